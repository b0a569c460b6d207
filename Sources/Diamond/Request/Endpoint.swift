/// A call of an API as a type, with the type of its response.
///
/// ```swift
/// struct ListCities: Endpoint {
///     typealias Output = Cities
///     var country: String?
///     var request: Request { Request("cities", parameters: ["country": country]) }
/// }
///
/// let cities = try await engine.send(ListCities(country: "DE"))
/// ```
///
/// An endpoint is `Codable`, so it can be stored and sent by another process, and `Hashable`, so it can be a dictionary
/// key. See <doc:DescribingAnAPI>.
public protocol Endpoint: Codable, Hashable, Sendable {
    /// The type that the body is decoded to. `Data` is the undecoded body. ``Nothing`` ignores the body. An optional is
    /// `nil` if the body is empty or a single space.
    associatedtype Output: Decodable & Sendable

    /// The request of the call. It is validated when it is sent. An error that this throws, such as of
    /// ``RequestBody/json(encoding:using:)``, ends the call as `badRequest`.
    var request: Request { get throws }

    /// The decoder of the body; `nil`, the default, uses the engine's.
    var decoder: (any ResponseDecoder)? { get }

    /// The name of this type of call in the replay queue's database. The default is the type's qualified name, such as
    /// `Shop.Notes.Create`. Set an explicit name for a type that may be renamed or moved.
    static var kind: String { get }

    /// A response for tests and previews; `nil` by default. `StubTransport(samplesOf:)` of the product `DiamondTesting`
    /// answers calls with their samples.
    var sample: Response? { get }
}

extension Endpoint {
    /// The type's qualified name.
    public static var kind: String {
        // The name of a private or local type contains an address, which differs in the next process.
        String(reflecting: Self.self).replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    }

    /// `nil`, so that the engine's decoder is used.
    public var decoder: (any ResponseDecoder)? { nil }

    /// `nil`: there is no sample.
    public var sample: Response? { nil }
}

/// The output of a call whose body is absent (204) or ignored.
public struct Nothing: Decodable, Hashable, Sendable {
    /// Creates the only value.
    public init() {}
    /// Ignores the decoder's content.
    public init(from decoder: any Decoder) throws {}
}

/// A request with the type of its response, created by ``Request/decoding(_:)``.
public struct DecodedRequest<Output: Decodable & Sendable>: Endpoint {
    /// The request to send; it can be changed.
    public var request: Request

    fileprivate init(_ request: Request) { self.request = request }

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
