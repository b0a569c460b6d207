public import Diamond
public import Foundation

/// A conversion between JSON and a property's value in both directions.
public struct Codec<Value>: Sendable {
    @usableFromInline let decode: @Sendable (JSONValue, inout RepairLog) -> Value?
    @usableFromInline let encode: @Sendable (Value) -> JSONValue
    /// Returns the value in a text; `nil` for a text that has to be decoded. `nil` for a codec that only decodes.
    @usableFromInline let readText: (@Sendable (TextElement) -> Value?)?
    /// Whether values convert themselves.
    @usableFromInline let isOwn: Bool
    /// Decodes a value whose parts may be objects in a text.
    let decodeItem: @Sendable (JSONItem, inout RepairLog) -> Value?
    /// Writes the text of the JSON that `encode` returns.
    let write: @Sendable (Value, PropertyVisitor) -> Void
}

extension Codec {
    /// Creates a codec.
    ///
    /// - Parameters:
    ///   - decode: Returns the value, or `nil` for JSON that it cannot read. The description of an error that it throws
    ///     is the reason in ``Model/repairs`` and ``Model/rejections``, to show next to a field.
    ///   - encode: Returns JSON that `decode` can read.
    public init(
        decode: @escaping @Sendable (JSONValue) throws -> Value?,
        encode: @escaping @Sendable (Value) -> JSONValue
    ) {
        self.init(
            logging: { json, repairs in
                do { return try decode(json) } catch {
                    repairs.refuse(because: (error as? any LocalizedError)?.errorDescription ?? "\(error)")
                    return nil
                }
            }, encode: encode)
    }

    @usableFromInline
    init(
        logging decode: @escaping @Sendable (JSONValue, inout RepairLog) -> Value?,
        encode: @escaping @Sendable (Value) -> JSONValue, reading readText: (@Sendable (TextElement) -> Value?)? = nil,
        writing write: (@Sendable (Value, PropertyVisitor) -> Void)? = nil, isOwn: Bool = false
    ) {
        self.init(
            decode: decode, encode: encode, readText: readText, isOwn: isOwn, decodeItem: { decode($0.value, &$1) },
            write: write ?? { $1.output.write(encode($0)) })
    }

    /// Returns the value in a text. If it is `nil`, or something was recorded, the value is decoded again.
    @inlinable
    func read(_ text: TextElement, _ log: inout RepairLog) -> Value? {
        if let readText { return readText(text) }
        return decode(text.value, &log)
    }
}

extension Codec where Value: ModelValue {
    /// The conversion of a type that converts itself.
    @inlinable
    public static var own: Codec {
        Codec(
            logging: { json, repairs in Value(json: json, repairs: &repairs) }, encode: { $0.json },
            reading: TextElement.reader(of: Value.self), writing: PropertyVisitor.writer(of: Value.self), isOwn: true)
    }
}

extension Codec where Value == Date {
    /// A date as text in the form of RFC 3339, a profile of ISO 8601. Written in UTC. This is the form of a date
    /// without a codec.
    ///
    /// Milliseconds and microseconds are read and written exactly; a date does not hold nanoseconds. A date that is not
    /// finite is written as `null`.
    public static var iso8601: Codec { .own }

    /// A number of seconds since 1970, with milliseconds or microseconds as fraction.
    public static var secondsSince1970: Codec { number(unit: 1_000_000) }

    /// A number of milliseconds since 1970, with microseconds as fraction.
    public static var millisecondsSince1970: Codec { number(unit: 1000) }

    /// Returns the codec of a number of units since 1970.
    ///
    /// - Parameter unit: The length of the unit in microseconds.
    private static func number(unit: Int64) -> Codec {
        let scale = 1_000_000 / Double(unit)
        return Codec(
            logging: { json, _ in Double(json: json).map { Date(timeIntervalSince1970: $0 / scale) } },
            encode: { date in
                guard let instant = InternetTime.Instant(date) else {
                    return .number(date.timeIntervalSince1970 * scale)
                }
                let (whole, rest) = instant.microseconds.quotientAndRemainder(dividingBy: unit)
                let units = instant.seconds * (1_000_000 / unit) + whole
                return rest == 0 ? .integer(units) : .number(Double(units) + Double(rest) / Double(unit))
            },
            reading: { $0.element.double().map { Date(timeIntervalSince1970: $0 / scale) } })
    }
}

extension Codec where Value == URL {
    /// A URL as text. It must have a scheme. This is the form of a URL without a codec.
    public static var url: Codec { .own }
}

extension Codec where Value: Hashable & Sendable {
    /// Returns a codec that maps JSON values to values: `.map(["y": true, "n": false])`.
    ///
    /// - Parameter values: The values by JSON value. If two JSON values have the same value, either of them may be
    ///   written.
    public static func map(_ values: [JSONValue: Value]) -> Codec {
        let back = Dictionary(values.map { ($0.value, $0.key) }) { first, _ in first }
        return Codec(decode: { values[$0] }, encode: { back[$0] ?? .null })
    }
}
