namespace millrace {}
