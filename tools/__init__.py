"""Programs of the checkout: real servers on loopback, the demonstration, the development stack. Not part of the wheel."""
