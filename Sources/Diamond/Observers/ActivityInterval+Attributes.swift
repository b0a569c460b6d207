#if Metrics || Tracing
import HTTPTypes

/// The attributes that OpenTelemetry's conventions for HTTP clients ask for.
/// <https://opentelemetry.io/docs/specs/semconv/http/>
extension ActivityInterval {
    /// The method, or `_OTHER` for an unknown one, which bounds the number of values.
    var knownMethod: String { Self.methods.contains(method) ? method.rawValue : "_OTHER" }

    private static let methods: Set<HTTPRequest.Method> = [
        .connect, .delete, .get, .head, .options, .patch, .post, .put, .trace, .query,
    ]

    /// The host, and the port if it is not the scheme's default.
    var server: (address: String, port: Int?) {
        let authority = origin.split(separator: "/", omittingEmptySubsequences: true).last.map { $0 } ?? ""
        guard let colon = authority.lastIndex(of: ":"), let port = Int(authority[authority.index(after: colon)...])
        else { return (String(authority), nil) }
        return (String(authority[..<colon]), port)
    }
}

extension ActivityOutcome {
    /// The code of the error, or the status if it is 400 or above.
    var errorType: String? { error ?? status.flatMap { $0.code >= 400 ? String($0.code) : nil } }
}
#endif
