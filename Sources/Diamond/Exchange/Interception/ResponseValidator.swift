import HTTPTypes

/// Refuses responses whose status or content type the app cannot use.
///
/// ```swift
/// configuration.interceptors = [ResponseValidator.json]
/// ```
///
/// The error is ``ConnectionError/Code-swift.struct/badStatus`` or
/// ``ConnectionError/Code-swift.struct/badContentType``, with the response. An empty body, or a single space, matches
/// any type, because some servers answer 200 to a DELETE. A response without a type is `application/octet-stream` (RFC
/// 9110 section 8.3).
public struct ResponseValidator: Interceptor, Hashable {
    /// The accepted statuses; `nil` for any.
    public var statuses: ClosedRange<Int>?
    /// The accepted media types in lower case, without parameters: `text/csv`, a whole type (`text/*`), or a structured
    /// suffix (`+json`, RFC 6839); `nil` for any.
    public var contentTypes: Set<String>?

    /// Creates a validator, by default for a status of 2xx and any content type.
    public init(statuses: ClosedRange<Int>? = 200...299, contentTypes: Set<String>? = nil) {
        self.statuses = statuses
        self.contentTypes = contentTypes
    }

    /// A validator for a status of 2xx and JSON: `application/json`, `text/json`, `text/javascript` and all types that
    /// end with `+json`.
    public static let json = ResponseValidator(
        contentTypes: ["application/json", "text/json", "text/javascript", "+json"])

    public func validate(_ response: Response) async throws {
        let status = response.status.code
        if let statuses, !statuses.contains(status) {
            let expected = "\(statuses.lowerBound) to \(statuses.upperBound)"
            let message = "the server answered \(status), not one of \(expected): \(response.explanation)"
            throw ConnectionError(.badStatus, message)
        }
        let type = MediaType(response.headers.single(.contentType))
        guard let contentTypes, !response.body.isBlank, !contentTypes.contains(where: type.matches) else { return }
        let expected = contentTypes.sorted().joined(separator: ", ")
        let message = "the body is \(type.essence.printable), not one of \(expected): see the response"
        throw ConnectionError(.badContentType, message)
    }
}
