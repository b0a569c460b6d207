#if Metrics || Tracing
import HTTPTypes

/// What OpenTelemetry's conventions for HTTP clients ask of attributes.
/// <https://opentelemetry.io/docs/specs/semconv/http/>
extension ActivityInterval {
    /// `_OTHER` for methods that are not known, of which there could be any number.
    var knownMethod: String { Self.methods.contains(method) ? method.rawValue : "_OTHER" }

    private static let methods: Set<HTTPRequest.Method> = [
        .connect, .delete, .get, .head, .options, .patch, .post, .put, .trace, .query,
    ]

    /// The host, and the port where it is not the scheme's own.
    var server: (address: String, port: Int?) {
        let authority = origin.split(separator: "/", omittingEmptySubsequences: true).last.map { $0 } ?? ""
        guard let colon = authority.lastIndex(of: ":"), let port = Int(authority[authority.index(after: colon)...])
        else { return (String(authority), nil) }
        return (String(authority[..<colon]), port)
    }
}

extension ActivityOutcome {
    /// The status where that is an error, or the code of the error.
    var errorType: String? { error ?? status.flatMap { $0.code >= 400 ? String($0.code) : nil } }
}
#endif
