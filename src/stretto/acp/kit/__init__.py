"""The conformance kit: tells the author of a component, in any language, whether it keeps to the protocol."""
