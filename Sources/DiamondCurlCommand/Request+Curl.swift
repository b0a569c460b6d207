public import Diamond
import HTTPTypes

extension Request {
    /// Reads a `curl` command as browsers copy it ("Copy as cURL (bash)") and as documentation shows it.
    ///
    /// ```swift
    /// let request = try Request(curl: "curl https://api.example.com/cities -H 'Accept: application/json'")
    /// ```
    ///
    /// It supports the options that define one request: `-X`, `-H`, `-d` and its variants, `--json`, `-F`,
    /// `--form-string`, `-G`, `-I`, `-u`, `-A`, `-e`, `-b`, `--url`, `-g`. It ignores options that do not change what
    /// is sent: for output (`-o`, `-O`, `-D`, `-c`, `-w`), for display (`-s`, `-S`, `-i`, `-v`, `-f`, `-#`, `--trace`),
    /// and for the work of an engine (`-L`, `--compressed`, `--http1.1`, `--http2`, `--retry`, `--connect-timeout`, and
    /// others about speed and connections). It refuses every other option by name.
    ///
    /// - `-m` becomes `timeout`. Unlike `-m`, it does not stop a server that keeps sending.
    /// - JSON becomes `RequestBody.jsonText(_:)`, which is sent unchanged.
    /// - A form becomes `RequestBody.form(_:)` if that is sent as the same bytes.
    /// - `-F` becomes `RequestBody.multipart(_:)`. Each part has the type that curl would send. A file (`name=@path`,
    ///   `name=<path`) is read when the request is sent, relative to the current directory.
    /// - As in curl, `[]` in a URL is literal.
    /// - The items of the query become `parameters`, so that changing one changes what is sent. A parameter escapes all
    ///   characters but letters, digits and `-._~`. An item that has others unescaped (`at=10:00`, `q=a+b`) stays in
    ///   the URL, and so do the items before it: the request sends the bytes of the command.
    ///
    /// - Throws: `RequestError.Code.malformedCurl` with the position and the remedy: for text that a shell expands,
    ///   such as a variable; any other option, such as `-k`; a pattern for several URLs; data or headers in a file; and
    ///   a form's part that has parts, headers, an encoding or several files.
    public init(curl: String) throws(RequestError) {
        let line = try CurlLine(curl)
        guard let url = line.url else { throw .malformedCurl(at: line.end, "it has no URL: add one") }
        // -G has no effect on a form.
        let isQuery = line.switches.contains(.get) && line.parts.isEmpty
        let query = isQuery ? line.data.bytes : nil
        let target = CurlURL(url)
        if line.switches.contains(.pathAsIs) { try target.refuseDotSegments() }
        self.init(try target.text(isPlain: line.switches.contains(.globoff), adding: query))
        timeout = line.timeout
        headers = line.headers.all
        let sent = isQuery ? nil : line.data.bytes
        method = try line.method(hasBody: sent != nil || !line.parts.isEmpty)
        moveQueryIntoParameters()
        if line.data.isJSON { addJSONHeaders(line.headers) }
        if !line.parts.isEmpty { try setForm(line) }
        if let sent { body = RequestBody(sent, contentType: contentType(line.headers)) }
    }

    private mutating func addJSONHeaders(_ given: CurlHeaders) {
        let made: [HTTPField.Name] = [.contentType, .accept]
        for name in made where !given.names.contains(name) { headers[name] = "application/json" }
    }

    /// Sets the form. A plain `multipart/form-data` type, which documentation often adds, is removed.
    private mutating func setForm(_ line: CurlLine) throws(RequestError) {
        body = .multipart(line.parts)
        guard line.headers.names.contains(.contentType) else { return }
        guard headers[.contentType]?.lowercased() == "multipart/form-data" else {
            throw .malformedCurl(
                at: line.end, "-H sets a Content-Type, and -F sets its own: remove the header")
        }
        headers[.contentType] = nil
    }

    /// Returns the content type that the command sets, or else curl's default for data.
    private func contentType(_ given: CurlHeaders) -> String? {
        let made = given.names.contains(.contentType) ? nil : "application/x-www-form-urlencoded"
        return headers[.contentType] ?? made
    }
}

extension CurlLine {
    /// Returns the method of `-X`, or else the one that `-I` or the data imply.
    fileprivate func method(hasBody: Bool) throws(RequestError) -> HTTPRequest.Method {
        let isHead = switches.contains(.head)
        guard !isHead || parts.isEmpty else { throw .malformedCurl(at: end, "-I sends no form: remove -I or -F") }
        guard !isHead || !hasBody else {
            throw .malformedCurl(at: end, "-I sends no data: add -G, or remove one of them")
        }
        return method ?? (isHead ? .head : hasBody ? .post : .get)
    }
}
