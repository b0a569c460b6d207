public import Diamond

extension Request {
    /// Returns a line for a POSIX shell that sends the same request with `curl`, without its credentials.
    ///
    /// ```swift
    /// print(try request.curlCommand())
    /// // curl 'https://api.example.com/cities?page=2' -H "Authorization: Bearer $AUTHORIZATION"
    /// ```
    ///
    /// A credential is a shell variable named after its header or parameter. A repeated name gets a number. A name that
    /// shells themselves set gets the prefix `SECRET_`.
    ///
    /// | variable | value |
    /// |---|---|
    /// | `$AUTHORIZATION` | the header's value without the scheme |
    /// | `$TOKEN` | the parameter `token`, percent-encoded |
    /// | `$USERINFO` | the URL's user info as `user:password` |
    /// | `$GITHUB_TOKEN` | the secret named `github-token` |
    /// | `$BODY` | the whole JSON body, if a member is secret |
    ///
    /// A multipart body's secret part is a variable named after the part. If the part has a type or a filename, its
    /// value needs a `\` before each `"` and `\`, as in curl's quotes. A body that is not plain text is piped in from the
    /// shell's `printf`. Such a part is written as `"$(printf '…')"`. `timeout` and `cache` are left out. curl sends its
    /// own `User-Agent` and `Accept` if the request has none.
    ///
    /// Without a credential, ``init(curl:)`` reads the same request back.
    ///
    /// - Throws: `RequestError` for a malformed request; for a body of a HEAD request; for a control character in a
    ///   header, which a terminal could interpret; for a part that curl would send differently, such as a file with a
    ///   filename but no type, or one with a NUL.
    public func curlCommand() throws(RequestError) -> String {
        var command = try CurlCommand(self)
        return try command.text()
    }
}
