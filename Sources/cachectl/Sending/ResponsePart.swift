#if Tools
import Diamond
import Foundation
import HTTPTypes

/// A part of a response, as captures and assertions name it: `status`, `header:ETag`, `/items/0/id`.
enum ResponsePart: Sendable {
    case status, duration, source, body
    case header(HTTPField.Name)
    case link(String)
    case json(JSONPointer)

    init(_ text: String) throws(RequestError) {
        let words: [String: ResponsePart] = [
            "status": .status, "duration": .duration, "source": .source, "body": .body,
        ]
        if let word = words[text] {
            self = word
        } else if text.hasPrefix("header:"), let name = HTTPField.Name(String(text.dropFirst("header:".count))) {
            self = .header(name)
        } else if text.hasPrefix("link:") {
            self = .link(String(text.dropFirst("link:".count)))
        } else if let pointer = JSONPointer(text) {
            self = .json(pointer)
        } else {
            throw RequestError(
                .malformedRequest,
                "'\(text)' is no part of a response: write status, duration, source, body, header:NAME, "
                    + "link:RELATION, or a JSON Pointer such as /items/0/id")
        }
    }

    /// Whether the part is read from the body.
    var isInBody: Bool {
        switch self {
        case .body, .json: true
        case .status, .duration, .source, .header, .link: false
        }
    }

    /// Whether the part is text, and has no type of JSON.
    var isText: Bool {
        switch self {
        case .source, .body, .header, .link: true
        case .status, .duration, .json: false
        }
    }

    /// Returns a value of the part for a message: as JSON, masked, and cut to 80 characters.
    func shown(_ value: JSONValue, secrets: SecretValues) -> String {
        // The known texts first: a text that is masked in part would not be found.
        let hidden = if case .string(let text) = value { JSONValue.string(secrets.masked(text)) } else { value }
        let text = SecretNames.masked(urlsIn: secrets.masked(masked(hidden)))
        return text.count > 80 ? "\(text.prefix(80))…" : text
    }

    /// Returns a value of the part as JSON, with its secrets by their names masked.
    private func masked(_ value: JSONValue) -> String {
        switch (self, value) {
        case (.header(let name), .string(let text)):
            JSONValue.string(SecretNames.masked(HTTPField(name: name, value: text))).description
        case (.body, .string(let text)): JSONValue.string(Self.masked(text)).description
        case (.json(let pointer), _) where pointer.tokens.contains(where: SecretNames.contains(member:)): "•••"
        default: Self.masked(value.description)
        }
    }

    private static func masked(_ text: String) -> String {
        String(decoding: Masking.body(Data(text.utf8)), as: UTF8.self)
    }
}

/// A response whose parts can be read.
struct ReadResponse {
    let response: Response
    let time: Duration
    /// The JSON of the body; `nil` if it is not JSON.
    private let json: JSONValue?

    init(_ response: Response, time: Duration) {
        self.response = response
        self.time = time
        json = try? JSONValue(reading: response.body, isolatesFaults: true)
    }

    /// Returns the value of a part; `nil` if it is absent.
    func value(of part: ResponsePart) -> JSONValue? {
        switch part {
        case .status: .integer(Int64(response.status.code))
        case .duration: .number(Quantity.milliseconds(time))
        case .source: .string(response.source.rawValue)
        case .body: .string(String(decoding: response.body, as: UTF8.self))
        case .header(let name): response.headers[name].map { .string(name == .location ? resolved($0) : $0) }
        case .link(let relation): (response.link(relation)?.target).map { .string($0) }
        case .json(let pointer): json.flatMap { pointer.value(in: $0) }
        }
    }

    /// Returns the absolute URL of a `Location`; the text itself if it is no reference.
    private func resolved(_ location: String) -> String {
        ServerReference(location, from: response.url)?.url.text() ?? location
    }

    /// Returns the value of a part, and the fields that it is read from; none if it is absent.
    func traces(of part: ResponsePart) -> [JSONValue] {
        let fields: [HTTPField] =
            switch part {
            case .header(let name): Array(response.headers[fields: name])
            case .link: Array(response.headers[fields: .link])
            case .status, .duration, .source, .body, .json: []
            }
        return [value(of: part)].compactMap { $0 } + fields.map { .string($0.value) }
    }

    /// The reason why a part can be absent.
    func absence(of part: ResponsePart) -> String {
        if case .json = part, json == nil { "absent, because the body is not JSON" } else { "absent" }
    }
}
#endif
