public import Diamond

extension Request {
    /// One line for a POSIX shell that sends the same request with `curl`, without its credentials.
    ///
    /// ```swift
    /// print(try request.curlCommand())
    /// // curl 'https://api.example.com/cities?page=2' -H "Authorization: Bearer $AUTHORIZATION"
    /// ```
    ///
    /// A credential is a shell variable named after its header or parameter, numbered where a name comes again, and with
    /// `SECRET_` before a name that shells have set already:
    /// `$AUTHORIZATION` without the scheme, `$TOKEN` for the parameter `token`, percent-encoded, `$USERINFO` for the
    /// URL's user info as `user:password`, `$GITHUB_TOKEN` for the secret named `github-token`, and `$BODY` for the
    /// whole of a JSON body in which a member is secret. A multipart body's secret part is a variable named after the
    /// part; where the part has a type or a filename, its value needs a `\` before each `"` and `\`, as in curl's quotes.
    /// A body that is not plain text is piped in, from the shell's `printf`, and a part that is not stands in
    /// `"$(printf '…')"`. `timeout` and `cache` have no place in it; curl's own `User-Agent` and `Accept` go where
    /// the request has none.
    ///
    /// Without a credential, ``init(curl:)`` reads the same request back.
    ///
    /// - Throws: `RequestError` as where the request is sent; for a body of a HEAD request; for a control character
    ///   in a header, on which a terminal could act; for a part that curl would send otherwise, such as a file that
    ///   tells its name but no type, or one with a NUL.
    public func curlCommand() throws(RequestError) -> String {
        var command = try CurlCommand(self)
        return try command.text()
    }
}
