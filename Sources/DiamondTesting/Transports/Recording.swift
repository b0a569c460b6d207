public import Foundation

/// Recorded HTTP exchanges. Write them to a file, and replay them later without a network.
///
/// The file is JSON that people can read and change. A ``RecordingTransport`` masks values with secret names, such as
/// `Authorization`, `api_key` and `token`. A text becomes `•••`, and a number becomes 0. It masks headers, cookie
/// values, URL parameters (also in headers and JSON strings), JSON members with all that they contain, and form items.
/// Mask other secrets yourself before you commit the file.
public struct Recording: Codable, Hashable, Sendable {
    /// One exchange.
    public struct Exchange: Codable, Hashable, Sendable {
        /// The method of the request.
        public var method: String
        /// The absolute URL of the request.
        public var url: String
        /// The body of the request; `nil` if there was none, or if it was streamed.
        public var requestBody: Body?
        /// The status of the response.
        public var status: Int
        /// The fields of the response, each as `Name: value`.
        public var headers: [String]
        /// The body of the response, with its content coding removed.
        public var body: Body

        /// Creates an exchange. The default is a GET with an empty response of status 200.
        ///
        /// - Parameters:
        ///   - url: The absolute URL. Secrets in the URL and in the body need not be masked.
        ///   - headers: The fields, each as `Name: value`.
        package init(
            method: String = "GET",
            url: String,
            requestBody: Body? = nil,
            status: Int = 200,
            headers: [String] = [],
            body: Body = .text("")
        ) {
            self.method = method
            self.url = url
            self.requestBody = requestBody
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// The bytes of a body: readable text if they are valid UTF-8, otherwise base64.
    public enum Body: Codable, Hashable, Sendable {
        case text(String)
        case base64(Data)
    }

    /// The version of the file's format.
    private var version = Self.current
    private static let current = 1
    /// The exchanges, in the order in which they ended.
    public var exchanges: [Exchange]

    /// Creates a recording from exchanges.
    package init(exchanges: [Exchange] = []) { self.exchanges = exchanges }

    /// Reads a recording from a file.
    ///
    /// - Throws: The error of reading the file; `DecodingError` if it is not a recording of this version.
    public init(contentsOf file: URL) throws {
        self = try JSONDecoder().decode(Recording.self, from: Data(contentsOf: file))
    }

    /// Writes the recording to a file atomically. Replaces an existing file.
    ///
    /// - Throws: The error of writing the file.
    public func write(to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(self).write(to: file, options: .atomic)
    }
}

extension Recording {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.current else {
            let message = "the recording has version \(version), not \(Self.current): record it again"
            throw DecodingError.dataCorruptedError(forKey: .version, in: container, debugDescription: message)
        }
        self.init(exchanges: try container.decode([Exchange].self, forKey: .exchanges))
    }
}

extension Recording.Body {
    init(_ data: Data) {
        self = String(validating: data, as: UTF8.self).map(Recording.Body.text) ?? .base64(data)
    }

    var data: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .base64(let data): data
        }
    }
}

/// Encodes `{"text": …}` or `{"base64": …}`.
extension Recording.Body {
    private enum CodingKeys: String, CodingKey { case text, base64 }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let text = try container.decodeIfPresent(String.self, forKey: .text) {
            self = .text(text)
        } else {
            self = .base64(try container.decode(Data.self, forKey: .base64))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .text(let text): try container.encode(text, forKey: .text)
        case .base64(let data): try container.encode(data, forKey: .base64)
        }
    }
}
