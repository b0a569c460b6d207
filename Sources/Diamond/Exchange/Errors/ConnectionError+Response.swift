import HTTPTypes

extension ConnectionError {
    /// The answer is none that was asked for.
    package init(badStatus response: Response) {
        let place = RequestURL.masked(Array(response.url.utf8))
        self.init(.badStatus, "\(place) answered \(response.status.code): see the response")
        (self.response, attempts) = (response, response.attempts)
    }

    /// - Parameter expected: a media type.
    init(badContentType response: Response, _ expected: String) {
        let place = RequestURL.masked(Array(response.url.utf8))
        let type = response.headers.single(.contentType) ?? "of no type"
        self.init(.badContentType, "the answer of \(place) is \(type), not \(expected)".printable)
        (self.response, attempts) = (response, response.attempts)
    }
}
