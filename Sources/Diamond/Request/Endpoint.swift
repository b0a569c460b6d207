/// A type for one call of an API, with the type of its answer.
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
/// An endpoint is `Codable`, so it can be written down and sent again in another process. It is `Hashable`, so it can
/// be a key in the app.
public protocol Endpoint: Codable, Hashable, Sendable {
    /// The type that the body is decoded to. `Data` is the body as it is. ``Nothing`` asks for none. An optional is
    /// `nil` if the body is empty or a single space.
    associatedtype Output: Decodable & Sendable

    /// The request that the call makes. Sending it reports what is wrong with it.
    var request: Request { get }

    /// The decoder of the body; `nil`, the default, uses the engine's.
    var decoder: (any ResponseDecoder)? { get }

    /// The name of such calls on disk, if their requests are kept to be sent later. The default is the name of the type
    /// within its module, such as `Shop.Notes.Create`. A type that may be renamed or moved needs a name of its own.
    static var kind: String { get }
}

extension Endpoint {
    /// The name of the type within its module.
    public static var kind: String {
        // The name of a private or local type holds its address in memory, which differs in the next process.
        String(reflecting: Self.self).replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    }

    /// `nil`, so that the engine's decoder is used.
    public var decoder: (any ResponseDecoder)? { nil }
}

/// The output of a call whose body does not matter, or that has none (204).
public struct Nothing: Decodable, Hashable, Sendable {
    /// Creates the only value.
    public init() {}
    /// Reads nothing, whatever there is.
    public init(from decoder: any Decoder) throws {}
}

/// A request with the type of its answer, made by ``Request/decoding(_:)``.
public struct DecodedRequest<Output: Decodable & Sendable>: Endpoint {
    /// The request to send; it can be changed.
    public var request: Request

    /// Creates a request with a type, as ``Request/decoding(_:)`` does.
    public init(_ request: Request) { self.request = request }

    /// Reads the written form of the request.
    public init(from decoder: any Decoder) throws { request = try Request(from: decoder) }

    /// Writes the written form of the request. The type is not written.
    public func encode(to encoder: any Encoder) throws { try request.encode(to: encoder) }
}

extension Request {
    /// Returns the request as a call whose body is decoded: `engine.send(request.decoding(User.self))`.
    public func decoding<Output: Decodable & Sendable>(_ type: Output.Type) -> DecodedRequest<Output> {
        DecodedRequest(self)
    }
}
