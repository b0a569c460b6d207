import Foundation

/// Types that use a decoder in every way, with texts that they are decoded from.
enum DecodableSamples {
    struct Flat: Codable, Equatable {
        var id: Int
        var name: String
        var isActive: Bool
        var score: Double
        var ratio: Float?
        var note: String?
        var firstName: String?
    }

    struct Integers: Codable, Equatable {
        var a: Int8?, b: Int16?, c: Int32?, d: Int64?, e: Int128?
        var f: UInt8?, g: UInt16?, h: UInt32?, i: UInt64?, j: UInt128?, k: UInt?
    }

    struct Foundations: Codable, Equatable, CustomStringConvertible {
        var date: Date?
        var data: Data?
        var url: URL?
        var decimal: Decimal?
        var dates: [Date]?

        // Foundation's description of a date that is not a number traps on Linux.
        var description: String {
            let seconds = ([date] + (dates ?? [])).map { $0?.timeIntervalSinceReferenceDate }
            return "\(seconds) \(String(describing: (data, url, decimal)))"
        }
    }

    struct Nested: Codable, Equatable {
        var flat: Flat?
        var list: [Flat?]
        var grid: [[Double]]
        var table: [String: Int?]
        var numbered: [Int: String]?
        var tables: [String: [String: Bool]]?
    }

    enum Color: String, Codable { case red, green, blue }

    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case square(Int)
        case none
    }

    struct Enums: Codable, Equatable {
        var color: Color?
        var colors: [Color]
        var shape: Shape?
        var byColor: [Color: Int]?
    }

    /// A value of one of several types: the errors of the others are caught.
    enum AnyValue: Codable, Equatable {
        case null, bool(Bool), integer(Int), double(Double), string(String)
        case array([AnyValue]), object([String: AnyValue])

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .null
            } else if let bool = try? value.decode(Bool.self) {
                self = .bool(bool)
            } else if let integer = try? value.decode(Int.self) {
                self = .integer(integer)
            } else if let double = try? value.decode(Double.self) {
                self = .double(double)
            } else if let string = try? value.decode(String.self) {
                self = .string(string)
            } else if let array = try? value.decode([AnyValue].self) {
                self = .array(array)
            } else {
                self = .object(try value.decode([String: AnyValue].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .null: try container.encodeNil()
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .array(let value): try container.encode(value)
            case .object(let value): try container.encode(value)
            }
        }
    }

    class Base: Decodable {
        var id: Int
        var kind: String?

        enum CodingKeys: String, CodingKey { case id, kind }
    }

    final class Derived: Base {
        var extra: [Int]

        private enum Keys: String, CodingKey { case extra }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            extra = try container.decode([Int].self, forKey: .extra)
            try super.init(from: container.superDecoder())
        }
    }

    @propertyWrapper struct Defaulted: Decodable, Equatable {
        var wrappedValue: Int

        init(from decoder: any Decoder) throws { wrappedValue = (try? Int(from: decoder)) ?? -1 }
    }

    struct Wrapped: Decodable, Equatable { @Defaulted var count: Int }

    /// Everything that a keyed container tells, in a text.
    struct Account: Decodable, Equatable {
        var lines: [String] = []

        init(from decoder: any Decoder) throws {
            let first = try decoder.container(keyedBy: AnyKey.self)
            let second = try decoder.container(keyedBy: AnyKey.self)
            lines.append("\(decoder.codingPath) \(decoder.userInfo.values)")
            for key in first.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
                lines.append("\(key.stringValue) \(second.contains(key)) \(try first.decodeNil(forKey: key))")
                if let items = try? second.nestedUnkeyedContainer(forKey: key) { try list(items) }
                if let nested = try? first.nestedContainer(keyedBy: AnyKey.self, forKey: key) {
                    let names = nested.allKeys.map(\.stringValue).sorted()
                    lines.append("\(nested.codingPath.map(\.stringValue)) \(names)")
                }
            }
            do { _ = try first.decode(Int.self, forKey: AnyKey(stringValue: "none")) } catch {
                guard case DecodingError.keyNotFound(let key, let context) = error else { throw error }
                lines.append("\(key.stringValue) \(context.codingPath.map(\.stringValue))")
            }
        }

        private mutating func list(_ items: any UnkeyedDecodingContainer) throws {
            var items = items
            lines.append("\(items.count ?? -1) \(items.codingPath.map(\.stringValue))")
            while !items.isAtEnd {
                let index = items.currentIndex
                if try items.decodeNil() { continue }
                if let text = try? items.decodeIfPresent(String.self) {
                    lines.append("\(index) \(text)")
                } else if let nested = try? items.nestedContainer(keyedBy: AnyKey.self) {
                    lines.append("\(index) \(nested.codingPath.map(\.stringValue))")
                } else {
                    let element = try items.superDecoder()
                    lines.append("\(index) \(element.codingPath.map(\.stringValue)) \(try AnyValue(from: element))")
                }
            }
        }
    }

    struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int?

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension DecodableSamples.Derived: Equatable {
    static func == (one: DecodableSamples.Derived, other: DecodableSamples.Derived) -> Bool {
        one.id == other.id && one.kind == other.kind && one.extra == other.extra
    }
}
