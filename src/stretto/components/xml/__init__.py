"""XML as several kinds speak it: read without harm, its values found by XPath."""
