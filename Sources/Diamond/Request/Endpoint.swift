/// A call of an API as a type of its own, with the type of what it answers.
///
/// ```swift
/// struct Search: Endpoint {
///     typealias Output = Cities
///     var country: String
///     var request: Request { Request("cities", parameters: ["country": JSONValue(country)]) }
/// }
/// let cities = try await engine.send(Search(country: "DE"))
/// ```
///
/// Being `Codable`, it can be written down and sent again in another process; being `Hashable`, it can be a key in the
/// app.
public protocol Endpoint: Codable, Hashable, Sendable {
    /// What the body is decoded to. `Data` is the body as it is; ``Nothing`` asks for none; an optional is `nil` where the
    /// body is empty or a single space.
    associatedtype Output: Decodable & Sendable

    /// The request that the call makes. What is wrong with it is told where it is sent.
    var request: Request { get }

    /// What decodes the body; `nil`, as by default, is the engine's.
    var decoder: (any ResponseDecoder)? { get }

    /// What such calls are known by on disk where their requests are kept to be sent later: by default the name of the type
    /// within its module, such as `Shop.Notes.Create`. A type that may be renamed, or moved, needs one of its own.
    static var kind: String { get }
}

extension Endpoint {
    /// The name of the type within its module.
    public static var kind: String {
        // Of a type that is private or local, the name says where it lies in memory, which the next process has elsewhere.
        String(reflecting: Self.self).replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    }

    /// The engine's.
    public var decoder: (any ResponseDecoder)? { nil }
}

/// The output of a call whose body does not matter, or that has none (204).
public struct Nothing: Decodable, Hashable, Sendable {
    /// There is one value only.
    public init() {}
    /// Reads nothing, whatever there is.
    public init(from decoder: any Decoder) throws {}
}

/// A request with the type of what it answers: ``Request/decoding(_:)``.
public struct DecodedRequest<Output: Decodable & Sendable>: Endpoint {
    /// The request that it makes; may be changed.
    public var request: Request

    /// The same as ``Request/decoding(_:)``.
    public init(_ request: Request) { self.request = request }

    /// The written form of the request.
    public init(from decoder: any Decoder) throws { request = try Request(from: decoder) }

    /// The written form of the request; the type is not written.
    public func encode(to encoder: any Encoder) throws { try request.encode(to: encoder) }
}

extension Request {
    /// The request as a call whose body is decoded: `engine.send(request.decoding(User.self))`.
    public func decoding<Output: Decodable & Sendable>(_ type: Output.Type) -> DecodedRequest<Output> {
        DecodedRequest(self)
    }
}
