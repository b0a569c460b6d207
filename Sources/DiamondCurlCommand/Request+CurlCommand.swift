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
    /// A secret part of a multipart body is a variable named after the part. If the part has a type or a filename, the
    /// variable's value needs a `\` before each `"` and `\`, as in curl's quotes. A body that is not plain text is
    /// piped in from the shell's `printf`. A header, path or part that is not plain text is written as
    /// `"$(printf '…')"`, so that the line has no character that a terminal acts on or does not show. `timeout` and
    /// `cache` are left out. curl sends its own `User-Agent` and `Accept` if the request has none.
    ///
    /// Without a credential, ``init(curl:)`` reads the same request back.
    ///
    /// - Throws: `RequestError` for a malformed request, for a body of a HEAD request, and for a part that curl cannot
    ///   send or would send differently. Examples are a part with a NUL, and a file with a filename but no type.
    public func curlCommand() throws(RequestError) -> String {
        var command = try CurlCommand(self)
        return try command.text()
    }
}

extension Engine {
    /// Returns the `curl` command of a request as this engine sends it: with the base URL for a relative URL, and with
    /// the engine's headers. Additions by a `CredentialProvider` or an `Interceptor` are left out.
    ///
    /// ```swift
    /// print(try engine.curlCommand(of: Request("cities", parameters: ["page": 2])))
    /// // curl 'https://api.example.com/cities?page=2' -H 'User-Agent: App/1.0'
    /// ```
    ///
    /// - Throws: `ConnectionError` `badRequest`, whose cause is the `RequestError` of `Request.curlCommand()`, or that
    ///   of a URL that leads away from the base URL.
    public func curlCommand(of request: Request) throws(ConnectionError) -> String {
        let completed = try completed(request)
        do throws(RequestError) { return try completed.curlCommand() } catch { throw ConnectionError(error) }
    }
}
