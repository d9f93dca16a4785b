package millrace

// URLOf lets tests make another client of the same server.
func URLOf(c *Client) string { return c.base }
