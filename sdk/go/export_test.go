package millrace

// URLOf lets tests create another client of the same server.
func URLOf(c *Client) string { return c.base }
