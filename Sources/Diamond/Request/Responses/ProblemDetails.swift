import Foundation
import HTTPTypes

/// A server's description of an error, in `application/problem+json` (RFC 9457).
///
/// ```swift
/// do throws(ConnectionError) { show(try await engine.send(order)) } catch {
///     show(error.problem?.detail ?? "The order was not sent.")
/// }
/// ```
///
/// A member of the wrong type is ignored (section 3.1).
public struct ProblemDetails: Hashable, Sendable {
    /// The type of problem, a URI reference; `about:blank` if the status code suffices (section 4.2.1).
    public var type = "about:blank"
    /// A human-readable summary of the problem type, the same for each occurrence.
    public var title: String?
    /// The status code, as given by the server that generated the problem.
    public var status: Int?
    /// A human-readable explanation of this occurrence.
    public var detail: String?
    /// A URI reference that identifies this occurrence.
    public var instance: String?
    /// The other members, by name.
    public var extensions: [String: JSONValue] = [:]

    /// Creates details of type `about:blank`.
    init() {}

    /// Whether the header fields of a response name the media type of a problem.
    static func isType(of headers: HTTPFields) -> Bool {
        MediaType(headers.single(.contentType)).isExactly("application/problem+json")
    }
}

extension ProblemDetails: Decodable {
    public init(from decoder: any Decoder) throws {
        var members = try decoder.singleValueContainer().decode([String: JSONValue].self)
        if let type = members.removeText("type") { self.type = type }
        title = members.removeText("title")
        detail = members.removeText("detail")
        instance = members.removeText("instance")
        if case .integer(let number)? = members.removeValue(forKey: "status")?.normalized {
            status = Int(exactly: number)
        }
        extensions = members
    }
}

extension [String: JSONValue] {
    fileprivate mutating func removeText(_ name: String) -> String? {
        if case .string(let text)? = removeValue(forKey: name) { text } else { nil }
    }
}

extension Response {
    /// The problem that the body describes; `nil` if the body is not `application/problem+json`.
    public var problem: ProblemDetails? {
        guard ProblemDetails.isType(of: headers) else { return nil }
        // The engine's decoder may read another format.
        return try? decode(ProblemDetails.self, using: JSONDecoder())
    }
}
