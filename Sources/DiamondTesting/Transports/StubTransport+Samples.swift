public import Diamond
import HTTPTypes

extension StubTransport {
    /// Creates a transport that answers calls with their samples.
    ///
    /// ```swift
    /// let transport = try StubTransport(samplesOf: ListCities(country: "DE"), Login(user: "ann"), baseURL: base)
    /// ```
    ///
    /// A request gets the sample of the first call with the same method and URL, including the query. Every other
    /// request gets a 404 whose body says that no call matches.
    ///
    /// - Parameters:
    ///   - call: A call with a ``Diamond/Endpoint/sample``.
    ///   - others: Other such calls.
    ///   - baseURL: The base URL of the engine; `nil` if the calls have absolute URLs.
    /// - Throws: The error of a call that cannot make its request. `RequestError` for a call without a sample.
    public convenience init(samplesOf call: any Endpoint, _ others: any Endpoint..., baseURL: String? = nil) throws {
        let samples = try ([call] + others).map { try Sample(of: $0, baseURL: baseURL) }
        self.init { request throws(TransportError) in
            guard let sample = samples.first(where: { $0.answers(request) }) else {
                return .stub(status: 404, body: "no call in StubTransport(samplesOf:) has this method and URL")
            }
            return sample.response
        }
    }
}

/// The sample of a call, with the method and the URL of its request.
private struct Sample: Sendable {
    private let method: HTTPRequest.Method
    private let url: String
    private let sample: Response

    init(of call: some Endpoint, baseURL: String?) throws {
        guard let sample = call.sample else {
            throw RequestError(.malformedRequest, "the call \(type(of: call)) has no sample: declare one in its type")
        }
        let request = try call.request
        method = request.method
        url = try request.sentURL(within: baseURL)
        self.sample = sample
    }

    func answers(_ request: TransportRequest) -> Bool { request.method == method && request.url == url }

    var response: TransportResponse {
        .stub(status: sample.status.code, headers: sample.headers, body: sample.body)
    }
}
