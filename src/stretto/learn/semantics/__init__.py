"""Training of aligners: labelled texts and corrections become samples, samples move the weights."""
