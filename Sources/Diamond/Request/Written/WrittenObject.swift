import Foundation

/// An object of the written form, taken apart key by key, so that none is overlooked.
struct WrittenObject {
    private var members: [String: JSONValue]
    private let place: String

    /// The largest number of levels of a form: those of a text by itself, as a body may hold, and those that it stands
    /// in.
    static let deepest = JSONReader.deepest + 8

    init(_ value: JSONValue, in place: String) throws(RequestError) {
        guard case .object(let members) = value else {
            throw RequestError(.malformedRequest, "\(place) is \(value.kind): write an object, {…}")
        }
        self.members = members
        self.place = place
    }

    mutating func take(_ key: String) -> JSONValue? { members.removeValue(forKey: key) }

    mutating func string(_ key: String) throws(RequestError) -> String? {
        guard let value = take(key) else { return nil }
        guard case .string(let text) = value else { throw failure(key, "is \(value.kind): write text") }
        return text
    }

    /// An array; an absent key is an empty one.
    mutating func array(_ key: String) throws(RequestError) -> [JSONValue] {
        guard let value = take(key) else { return [] }
        guard case .array(let values) = value else { throw failure(key, "is \(value.kind): write an array, […]") }
        return values
    }

    mutating func strings(_ key: String) throws(RequestError) -> [String] {
        try array(key).map { value throws(RequestError) in
            guard case .string(let text) = value else { throw failure(key, "holds \(value.kind): write text only") }
            return text
        }
    }

    /// Seconds; `null` is no limit, an absent key `default`.
    mutating func duration(_ key: String, default: Duration?) throws(RequestError) -> Duration? {
        switch take(key) {
        case nil: return `default`
        case .null: return nil
        case .integer(let seconds): return try duration(key, Double(seconds))
        case .number(let seconds): return try duration(key, seconds)
        case let value?: throw failure(key, "is \(value.kind): write seconds")
        }
    }

    private func duration(_ key: String, _ seconds: Double) throws(RequestError) -> Duration {
        let milliseconds = (seconds * 1000).rounded()
        guard (0...Double(Duration.longest)).contains(milliseconds) else {
            throw failure(key, "is no time: write seconds, from 0 to a hundred years")
        }
        return .milliseconds(Int64(milliseconds))
    }

    /// A whole number; `nil` where the key is absent.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(RequestError) -> Int? {
        guard let value = take(key) else { return nil }
        guard case .integer(let integer) = value.normalized, let number = Int(exactly: integer), range.contains(number)
        else {
            let end = range.upperBound == .max ? "on" : "to \(range.upperBound)"
            throw failure(key, "is no such number: write a whole one from \(range.lowerBound) \(end)")
        }
        return number
    }

    /// A time, in seconds since 1970; `nil` where the key is absent.
    mutating func date(_ key: String) throws(RequestError) -> Date? {
        switch take(key) {
        case nil: return nil
        case .integer(let seconds): return Date(timeIntervalSince1970: Double(seconds))
        case .number(let seconds): return Date(timeIntervalSince1970: seconds)
        case let value?: throw failure(key, "is \(value.kind): write seconds since 1970")
        }
    }

    /// Returns the bytes of `text` or `base64`; `nil` if both keys are absent.
    mutating func bytes() throws(RequestError) -> Data? {
        if let text = try string("text") { return Data(text.utf8) }
        guard let text = try string("base64") else { return nil }
        guard let data = Data(base64Encoded: text) else { throw failure("base64", "is not base64: mend it") }
        return data
    }

    /// Takes the version of the form; there is one.
    mutating func checkVersion() throws(RequestError) {
        guard take("version") ?? 1 == 1 else {
            throw failure("version", "is not 1: a newer Diamond wrote it; update this program")
        }
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String,
        for key: String
    ) throws(RequestError) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: name) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw failure(key, "is '\(name)': write one of \(names)")
        }
        return choice
    }

    /// Refuses the keys that were not taken.
    func finish() throws(RequestError) {
        if let unknown = members.keys.min() { throw failure(unknown, "is not known here: remove it, or mend its name") }
    }

    func failure(_ key: String, _ reason: String) -> RequestError {
        RequestError(.malformedRequest, "key \"\(key)\" of \(place) \(reason)")
    }
}
