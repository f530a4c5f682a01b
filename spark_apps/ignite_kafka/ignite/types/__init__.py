"""Types of Ignite and of Arrow, and which one stands for which. Imports errors only; the codec and the converters import it."""
