import HTTPTypes

/// Refuses responses whose status or content type is not what the app can use.
///
/// ```swift
/// configuration.interceptors = [ResponseValidator.json]
/// ```
///
/// The error is ``ConnectionError/Code-swift.struct/badStatus`` or ``ConnectionError/Code-swift.struct/badContentType``,
/// with the response. A body that is empty, or a single space, has any type (as with AFNetworking, for servers that
/// answer 200 to a DELETE); a response that names no type is `application/octet-stream` (RFC 9110 section 8.3).
public struct ResponseValidator: Interceptor, Hashable {
    /// `nil` for any.
    public var statuses: ClosedRange<Int>?
    /// Media types in lower case, without parameters: `text/csv`, a whole type (`text/*`), or a structured suffix (`+json`,
    /// RFC 6839); `nil` for any.
    public var contentTypes: Set<String>?

    /// By default any content type, and a status of 2xx.
    public init(statuses: ClosedRange<Int>? = 200...299, contentTypes: Set<String>? = nil) {
        self.statuses = statuses
        self.contentTypes = contentTypes
    }

    /// A status of 2xx, and JSON: `application/json`, `text/json`, `text/javascript` and whatever ends with `+json`.
    public static let json = ResponseValidator(
        contentTypes: ["application/json", "text/json", "text/javascript", "+json"])

    public func validate(_ response: Response) async throws {
        let status = response.status.code
        if let statuses, !statuses.contains(status) {
            let expected = "\(statuses.lowerBound) to \(statuses.upperBound)"
            let message = "the server answered \(status), not one of \(expected): see the response"
            throw ConnectionError(.badStatus, message)
        }
        let type = MediaType(response.headers.single(.contentType))
        guard let contentTypes, !response.body.isBlank, !contentTypes.contains(where: type.matches) else { return }
        let expected = contentTypes.sorted().joined(separator: ", ")
        let message = "the body is \(type.essence.printable), not one of \(expected): see the response"
        throw ConnectionError(.badContentType, message)
    }
}
