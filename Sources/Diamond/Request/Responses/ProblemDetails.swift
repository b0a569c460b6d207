import HTTPTypes

/// What a server says of an error in `application/problem+json` (RFC 9457).
///
/// ```swift
/// do { show(try await engine.send(order)) } catch {
///     show(error.problem?.detail ?? error.message)
/// }
/// ```
///
/// A member that is of another type than the standard says is ignored, as it says (section 3.1).
public struct ProblemDetails: Hashable, Sendable {
    /// The kind of problem, a URI reference; `about:blank` where the status says it all (section 4.2.1).
    public var type = "about:blank"
    /// The kind of problem, for people; the same for each that occurs.
    public var title: String?
    /// What the server that made it took for the status.
    public var status: Int?
    /// This occurrence of it, for people.
    public var detail: String?
    /// This occurrence of it, a URI reference.
    public var instance: String?
    /// What else it has, by name.
    public var extensions: [String: JSONValue] = [:]

    /// Nothing but `about:blank`.
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
    /// What the body says is wrong; `nil` where it is no `application/problem+json`.
    public var problem: ProblemDetails? {
        guard MediaType(headers.single(.contentType)).essence == "application/problem+json" else { return nil }
        return try? decode(ProblemDetails.self)
    }
}
