import Foundation

extension TapeDecoder {
    typealias Place = CodingPlace?

    func value<T: Decodable>(_ type: T.Type, of element: JSONElement, at place: @autoclosure () -> Place) throws -> T {
        if type == String.self { return same(try string(element, at: place())) }
        if type == Int.self { return same(try integer(element, at: place()) as Int) }
        if type == Double.self { return same(try double(element, at: place())) }
        if type == Date.self { return same(try date(element, at: place())) }
        if type == URL.self { return same(try url(element, at: place())) }
        if type == Data.self { return same(try data(element, at: place())) }
        if type == Decimal.self { return same(try decimal(element, at: place())) }
        if text.settings.convertsKeys, let dictionary = type as? any NamedValues.Type {
            return try cast(dictionary.decode(element, from: self, at: place()))
        }
        return try reading(element, at: place()) { try T(from: $0) }
    }

    /// Returns a value whose type was found to be `T`.
    @inline(__always)
    private func same<Value, T>(_ value: Value) -> T { unsafeBitCast(value, to: T.self) }

    private func cast<T>(_ value: some Any) throws -> T {
        guard let value = value as? T else { throw text.undecided() }
        return value
    }

    func bool(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> Bool {
        switch element.kind {
        case .true: return true
        case .false: return false
        default: throw typeMismatch(Bool.self, found: element, at: place())
        }
    }

    func string(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> String {
        guard element.kind == .string else { throw mismatch(String.self, found: element, at: place()) }
        guard !element.hasLoneSurrogate else { throw text.undecided() }
        return element.string()
    }

    private func url(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> URL {
        guard let url = URL(string: try string(element, at: place())) else {
            throw invalid("Invalid URL.", at: place())
        }
        return url
    }

    private func date(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> Date {
        guard element.kind != .null else { throw mismatch(Date.self, found: element, at: place()) }
        switch text.settings.dates {
        case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try double(element, at: place()))
        case .secondsSince1970: return Date(timeIntervalSince1970: try double(element, at: place()))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try double(element, at: place()) / 1000)
        case .iso8601:
            let string = try string(element, at: place())
            guard let date = try? Date.ISO8601FormatStyle().parse(string) else {
                throw invalid("Expected date string to be ISO8601-formatted.", at: place())
            }
            return date
        #if canImport(Darwin)
        case .formatted(let formatter):
            guard let date = formatter.date(from: try string(element, at: place())) else {
                throw invalid("Date string does not match format expected by formatter.", at: place())
            }
            return date
        #endif
        case .custom(let decode): return try reading(element, at: place()) { try decode($0) }
        @unknown default: throw text.undecided()
        }
    }

    private func data(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> Data {
        guard element.kind != .null else { throw mismatch(Data.self, found: element, at: place()) }
        switch text.settings.data {
        case .deferredToData: return try reading(element, at: place()) { try Data(from: $0) }
        case .base64:
            guard let data = Data(base64Encoded: try string(element, at: place())) else {
                throw invalid("Encountered Data is not valid Base64.", at: place())
            }
            return data
        case .custom(let decode): return try reading(element, at: place()) { try decode($0) }
        @unknown default: throw text.undecided()
        }
    }

    func invalid(_ message: String, at place: Place) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: place?.path ?? [], debugDescription: message))
    }

    private func typeMismatch(_ type: Any.Type, found element: JSONElement, at place: Place) -> DecodingError {
        .typeMismatch(
            type,
            DecodingError.Context(
                codingPath: place?.path ?? [],
                debugDescription: "Expected to decode \(type), but found \(element.kind)."))
    }
}

/// A dictionary with `String` keys, whose names no key strategy converts.
private protocol NamedValues {
    static func decode(_ element: JSONElement, from decoder: TapeDecoder, at place: CodingPlace?) throws -> Self
}

extension Dictionary: NamedValues where Key == String, Value: Decodable {
    fileprivate static func decode(
        _ element: JSONElement, from decoder: TapeDecoder, at place: CodingPlace?
    ) throws -> Self {
        guard element.kind == .object else { throw decoder.mismatch([String: Any].self, found: element, at: place) }
        var values: Self = [:]
        var members = element.members
        while let (name, value) = members.next() {
            let name = try decoder.string(name, at: place)
            let decoded = try decoder.value(
                Value.self, of: value, at: CodingPlace(PlaceKey(stringValue: name), in: place))
            if values[name] == nil { values[name] = decoded }
        }
        return values
    }
}
