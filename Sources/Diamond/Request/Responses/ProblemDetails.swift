import HTTPTypes

/// A server's description of an error, in `application/problem+json` (RFC 9457).
///
/// ```swift
/// do { show(try await engine.send(order)) } catch {
///     show(error.problem?.detail ?? error.message)
/// }
/// ```
///
/// A member whose type is not the standard's is ignored, as the standard says (section 3.1).
public struct ProblemDetails: Hashable, Sendable {
    /// The kind of problem, a URI reference; `about:blank` if the status says it all (section 4.2.1).
    public var type = "about:blank"
    /// The kind of problem, for people. It is the same for each occurrence.
    public var title: String?
    /// The status, as the server that made the description gives it.
    public var status: Int?
    /// A description of this occurrence, for people.
    public var detail: String?
    /// A URI reference for this occurrence.
    public var instance: String?
    /// The other members, by name.
    public var extensions: [String: JSONValue] = [:]

    /// Creates details with nothing but `about:blank`.
    public init() {}
}

extension ProblemDetails: Decodable {
    public init(from decoder: any Decoder) throws {
        var members = try decoder.singleValueContainer().decode([String: JSONValue].self)
        if let type = members.takeText("type") { self.type = type }
        (title, detail, instance) = (
            members.takeText("title"), members.takeText("detail"), members.takeText("instance")
        )
        if case .integer(let number)? = members.removeValue(forKey: "status")?.normalized {
            status = Int(exactly: number)
        }
        extensions = members
    }
}

extension [String: JSONValue] {
    fileprivate mutating func takeText(_ name: String) -> String? {
        if case .string(let text)? = removeValue(forKey: name) { text } else { nil }
    }
}

extension Response {
    /// The problem that the body describes; `nil` if the body is no `application/problem+json`.
    public var problem: ProblemDetails? {
        guard MediaType(headers.single(.contentType)).essence == "application/problem+json" else { return nil }
        return try? decode(ProblemDetails.self)
    }
}
