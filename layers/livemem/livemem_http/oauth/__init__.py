"""Sign-in by OAuth over HTTP: metadata, the page of consent, tokens. What it decides is in `livemem.signin`."""
