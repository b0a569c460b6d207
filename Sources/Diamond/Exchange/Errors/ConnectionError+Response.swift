import HTTPTypes

extension ConnectionError {
    /// Creates the error for a response with an unaccepted status: `notStored` if the engine generated it.
    package init(badStatus response: Response) {
        let url = RequestURL.masked(Array(response.url.utf8))
        if response.source == .generated {
            self.init(
                .notStored, "no response to \(url) is stored that may be served: send it with another cache policy")
        } else {
            self.init(.badStatus, "\(url) answered \(response.status.code): \(response.explanation)")
        }
        self.response = response
        attempts = response.attempts
    }

    /// Creates the error of a body that could not be decoded.
    ///
    /// - Parameter type: the type of the output, or of the connection that decodes.
    init(undecodable response: Response, as type: Any.Type, _ error: any Error) {
        let place = RequestURL.masked(Array(response.url.utf8))
        let reason = (error as? DecodingError)?.reason ?? "see the cause"
        let message = "the response of \(place) is no \(type): \(response.otherContentType)\(reason)"
        self.init(.undecodable, message.printable, cause: error)
        self.response = response
        attempts = response.attempts
    }

    /// Creates the error for a response with an unaccepted content type.
    ///
    /// - Parameter expected: the media type that is accepted.
    init(badContentType response: Response, expected: String) {
        let url = RequestURL.masked(Array(response.url.utf8))
        let type = response.headers.single(.contentType) ?? "missing"
        self.init(.badContentType, "the content type of \(url) is \(type), not \(expected): see the response".printable)
        self.response = response
        attempts = response.attempts
    }
}

extension Response {
    /// The server's explanation of an error status in one line (RFC 9457 section 3.1), or a reference to the response.
    /// The secrets of the request and those in URLs are masked. The text of a stored response is not repeated, because
    /// the secrets of the request that it answered are not known.
    var explanation: String {
        guard source == .network else { return "see the response" }
        let problem = problem
        let texts = [problem?.detail, problem?.title].compactMap { $0?.inOneLine(hiding: facts.secrets.value) }
        return texts.first { !$0.isEmpty } ?? "see the response"
    }

    /// The content type if it is not JSON, for a message: a network with a sign-in page answers HTML to everything.
    fileprivate var otherContentType: String {
        guard let type = headers.single(.contentType), !MediaType(type).isJSON else { return "" }
        return "its content type is \(type), "
    }
}

extension String {
    fileprivate func inOneLine(hiding secrets: SecretValues?) -> String {
        // A server's text may be as long as a body, and the message is cut. A secret at the end of the text is not.
        let text = String(prefix(8000))
        let words = (secrets?.masked(text) ?? text).prefix(4000).split(whereSeparator: \.isWhitespace).joined(
            separator: " ")
        return FieldSecrets().masked(urlsIn: words).printable
    }
}

extension ActivityOutcome {
    init(_ error: ConnectionError) { self.init(status: error.response?.status, error: error.code.description) }

    init(_ result: Result<Response, ConnectionError>) {
        switch result {
        case .success(let response): self.init(response)
        case .failure(let error): self.init(error)
        }
    }
}
