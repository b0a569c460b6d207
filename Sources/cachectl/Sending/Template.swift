#if Tools
import Diamond

/// A value that a placeholder stands for, and that is missing. The command exits with 8.
struct MissingValue: Error {
    var message: String
}

/// A value that was captured from a response.
struct CapturedValue: Sendable {
    let json: JSONValue
    /// The origin that the request was sent to. After a redirect the response may have another origin.
    let origin: String
}

/// A text with placeholders for values: `${name}`. `$${` stands for `${`.
struct Template: Sendable {
    /// The values of names.
    struct Values {
        /// The captured values. A server must not choose the host that a request is sent to.
        var captured: [String: CapturedValue] = [:]
        /// Returns the value of another name.
        let variable: (String) throws -> JSONValue

        func callAsFunction(_ name: String) throws -> JSONValue { try captured[name]?.json ?? variable(name) }
    }

    /// The place of a text in a request, which decides how a value is written there.
    enum Place {
        case text
        /// A value in JSON, parameters or a form. A placeholder that is the whole text keeps the type of its value.
        case typed
        /// JSON that is sent byte for byte. Strings are written with JSON's escapes, without quotation marks.
        case jsonText
        /// A URL. After the begin of its path, values are percent-encoded. Captured values are no part of its host.
        case url
        /// The path of a file, which has no placeholders: a server must not choose the files that are read.
        case path
    }

    private enum Part {
        case text(String)
        case name(String)
    }

    private var parts: [Part] = []

    init(_ text: String) throws(RequestError) {
        // By scalars: a sign with a combining mark after it is a different `Character`.
        let placeholder = /\$?\$\{(?:([A-Za-z_][A-Za-z0-9_-]*)\})?/.matchingSemantics(.unicodeScalar)
        var end = text.startIndex
        for match in text.matches(of: placeholder) {
            parts.append(.text(String(text[end..<match.range.lowerBound])))
            end = match.range.upperBound
            if match.output.0.unicodeScalars.starts(with: "$$".unicodeScalars) {
                parts.append(.text(String(match.output.0.dropFirst())))
            } else if let name = match.output.1 {
                parts.append(.name(String(name)))
            } else {
                throw RequestError(
                    .malformedRequest, "'${' begins no placeholder: write ${name}, or $${ for the two characters")
            }
        }
        parts.append(.text(String(text[end...])))
    }

    /// The name of the placeholder that is the whole text; `nil` for another text.
    private var wholeName: String? {
        guard parts.count == 3, case .text("") = parts[0], case .name(let name) = parts[1], case .text("") = parts[2]
        else { return nil }
        return name
    }

    /// The name of the placeholder that the text begins with; `nil` for another text.
    var firstName: String? {
        guard parts.count > 1, case .text("") = parts[0], case .name(let name) = parts[1] else { return nil }
        return name
    }

    /// Whether a placeholder is the whole text.
    var isValue: Bool { wholeName != nil }

    /// Returns the value of a placeholder that is the whole text, with its type; otherwise the text.
    func value(with values: Values) throws -> JSONValue {
        try wholeName.map { try values($0) } ?? .string(try text(with: values))
    }

    /// Returns the text with the values in place of the placeholders.
    func text(with values: Values, in place: Place = .text) throws -> String {
        var filled = ""
        for part in parts {
            switch part {
            case .text(let text): filled += text
            case .name(let name):
                let text = try Self.text(of: values(name), named: name, in: place)
                let isCaptured = values.captured[name] != nil
                filled += try place == .url ? Self.part(text, of: filled, named: name, isCaptured: isCaptured) : text
            }
        }
        return filled
    }

    private static func text(of value: JSONValue, named name: String, in place: Place) throws -> String {
        switch value {
        case _ where place == .path:
            throw RequestError(.malformedRequest, "the path of a file has the placeholder ${\(name)}: write the path")
        case .null where place != .jsonText: throw MissingValue(message: "the value of '\(name)' is null")
        case .string(let text) where place != .jsonText: return text
        case .string: return String(value.description.dropFirst().dropLast())
        default: return value.description
        }
    }

    /// Returns a value as it is written after the beginning of a URL.
    private static func part(
        _ text: String, of url: String, named name: String, isCaptured: Bool
    ) throws(RequestError) -> String {
        guard !hasPath(url) else { return "\(segment: text)" }
        // The origin of a whole URL is checked when all of the request is known.
        guard isCaptured, !url.isEmpty else { return text }
        guard hasPath("\(url)/"), let first = text.utf8.first, "/?#".utf8.contains(first) else {
            throw RequestError(
                .malformedURL,
                "the captured value ${\(name)} would be a part of the host: write the host, and a / before ${\(name)}")
        }
        return text
    }

    /// Whether a URL has a character after its authority.
    private static func hasPath(_ url: String) -> Bool {
        url.firstMatch(of: /^[^:\/?#]*:\/\/[^\/?#]+[\/?#]/.matchingSemantics(.unicodeScalar)) != nil
    }
}

extension JSONValue {
    /// Returns the value with filled templates in place of its strings and names.
    func filled(with values: Template.Values, in place: Template.Place) throws -> JSONValue {
        switch self {
        case .string(let text):
            let template = try Template(text)
            guard place != .typed else { return try template.value(with: values) }
            return .string(try template.text(with: values, in: place))
        case .array(let elements): return .array(try elements.map { try $0.filled(with: values, in: place) })
        case .object(let members):
            let filled = try members.map { name, value in
                (try Template(name).text(with: values), try value.filled(with: values, in: place))
            }
            return .object(Dictionary(filled) { $1 })
        default: return self
        }
    }
}
#endif
