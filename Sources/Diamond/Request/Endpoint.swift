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
}

extension Endpoint {
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

/// A request with the type of what it answers: ``Request/decode(_:)``.
public struct DecodedRequest<Output: Decodable & Sendable>: Endpoint {
    /// The request that it makes; may be changed.
    public var request: Request

    /// The same as ``Request/decode(_:)``.
    public init(_ request: Request) { self.request = request }

    /// The written form of the request.
    public init(from decoder: any Decoder) throws { request = try Request(from: decoder) }

    /// The written form of the request; the type is not written.
    public func encode(to encoder: any Encoder) throws { try request.encode(to: encoder) }
}

extension Request {
    /// The request as a call whose body is decoded: `engine.send(request.decode(User.self))`.
    public func decode<Output: Decodable & Sendable>(_ type: Output.Type) -> DecodedRequest<Output> {
        DecodedRequest(self)
    }
}
