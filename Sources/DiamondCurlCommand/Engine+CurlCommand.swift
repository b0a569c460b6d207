public import Diamond

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
