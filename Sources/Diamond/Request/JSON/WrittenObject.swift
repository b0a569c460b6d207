import Foundation

/// A reader of an object in a written form. It consumes key by key, and reports keys that were not consumed.
struct WrittenObject {
    private var members: [String: JSONValue]
    private let place: String

    /// The maximum nesting depth of a form: that of a JSON text, such as a body, and the levels around it.
    static let maximumDepth = JSONTape.maximumDepth + 8

    init(_ value: JSONValue, in place: String) throws(RequestError) {
        guard case .object(let members) = value else {
            throw RequestError(.malformedRequest, "\(place) is \(value.kind): write an object, {…}")
        }
        self.members = members
        self.place = place
    }

    mutating func consume(_ key: String) -> JSONValue? { members.removeValue(forKey: key) }

    mutating func string(_ key: String) throws(RequestError) -> String? {
        guard let value = consume(key) else { return nil }
        guard case .string(let text) = value else { throw failure(at: key, "is \(value.kind): write text") }
        return text
    }

    /// Reads an array; empty if the key is absent.
    mutating func array(_ key: String) throws(RequestError) -> [JSONValue] {
        guard let value = consume(key) else { return [] }
        guard case .array(let values) = value else { throw failure(at: key, "is \(value.kind): write an array, […]") }
        return values
    }

    mutating func strings(_ key: String) throws(RequestError) -> [String] {
        try array(key).map { value throws(RequestError) in
            guard case .string(let text) = value else { throw failure(at: key, "holds \(value.kind): write text only") }
            return text
        }
    }

    /// Reads seconds: `nil` for `null`, `default` if the key is absent.
    mutating func duration(_ key: String, default: Duration?) throws(RequestError) -> Duration? {
        switch consume(key) {
        case nil: return `default`
        case .null: return nil
        case .integer(let seconds): return try Self.duration(Double(seconds), at: key, of: self)
        case .number(let seconds): return try Self.duration(seconds, at: key, of: self)
        case let value?: throw failure(at: key, "is \(value.kind): write seconds")
        }
    }

    private static func duration(
        _ seconds: Double, at key: String, of form: WrittenObject
    ) throws(RequestError) -> Duration {
        let milliseconds = (seconds * 1000).rounded()
        guard (0...Double(Duration.longest)).contains(milliseconds) else {
            throw form.failure(at: key, "is not a duration: write seconds, from 0 to a hundred years")
        }
        return .milliseconds(Int64(milliseconds))
    }

    /// Reads `true` or `false`; `false` if the key is absent.
    mutating func boolean(_ key: String) throws(RequestError) -> Bool {
        guard let value = consume(key) else { return false }
        guard case .bool(let isTrue) = value else { throw failure(at: key, "is \(value.kind): write true or false") }
        return isTrue
    }

    /// Reads a whole number; `nil` if the key is absent.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(RequestError) -> Int? {
        guard let value = consume(key) else { return nil }
        guard case .integer(let integer) = value.normalized, let number = Int(exactly: integer), range.contains(number)
        else {
            let end = range.upperBound == .max ? "on" : "to \(range.upperBound)"
            throw failure(at: key, "is out of range: write a whole number from \(range.lowerBound) \(end)")
        }
        return number
    }

    /// Reads a time in seconds since 1970; `nil` if the key is absent.
    mutating func date(_ key: String) throws(RequestError) -> Date? {
        switch consume(key) {
        case nil: return nil
        case .integer(let seconds): return Date(timeIntervalSince1970: Double(seconds))
        case .number(let seconds): return Date(timeIntervalSince1970: seconds)
        case let value?: throw failure(at: key, "is \(value.kind): write seconds since 1970")
        }
    }

    /// Reads the bytes of `text` or `base64`; `nil` if both keys are absent.
    mutating func bytes() throws(RequestError) -> Data? {
        if let text = try string("text") { return Data(text.utf8) }
        guard let text = try string("base64") else { return nil }
        guard let data = Data(base64Encoded: text) else { throw failure(at: "base64", "is not base64: correct it") }
        return data
    }

    /// Reads the version of the form, and refuses any other than 1.
    mutating func checkVersion() throws(RequestError) {
        guard consume("version") ?? 1 == 1 else {
            throw failure(at: "version", "is not 1: a newer Diamond wrote it; update this program")
        }
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String,
        for key: String
    ) throws(RequestError) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: name) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw failure(at: key, "is '\(name)': write one of \(names)")
        }
        return choice
    }

    /// Refuses an object with keys that were not consumed.
    func finish() throws(RequestError) {
        if let unknown = members.keys.min() {
            throw failure(at: unknown, "is not known here: remove it, or correct its name")
        }
    }

    func failure(at key: String, _ reason: String) -> RequestError {
        RequestError(.malformedRequest, "key \"\(key)\" of \(place) \(reason)")
    }
}

/// A value with a written form in JSON, which is its `Codable` form.
protocol Written: Codable {
    /// Reads the written form.
    init(written: JSONValue) throws(RequestError)

    /// The written form, without default values.
    var written: JSONValue { get throws(RequestError) }
}

extension Written {
    /// Reads the written form with any decoder.
    public init(from decoder: any Decoder) throws {
        try self.init(written: try JSONValue(from: decoder))
    }

    /// Writes the written form with any encoder, without default values.
    public func encode(to encoder: any Encoder) throws {
        try written.encode(to: encoder)
    }
}

extension Date {
    /// The seconds since 1970, with millisecond precision.
    var written: JSONValue { .number((timeIntervalSince1970 * 1000).rounded() / 1000) }
}
