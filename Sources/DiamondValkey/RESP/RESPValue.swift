#if Valkey
package import NIOCore

/// A value of RESP3, the protocol of Valkey and Redis
/// (https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md). The nulls of RESP2 are `null`.
package enum RESPValue: Sendable, Hashable {
    /// A simple string. A byte that is not UTF-8 is U+FFFD.
    case simple(String)
    /// A simple or a bulk string of bytes.
    case bulk(ByteBuffer)
    /// A verbatim string, and the three letters of its format.
    case verbatim(ByteBuffer, format: String)
    case integer(Int64)
    /// A whole number of any size, in decimal digits.
    case bigNumber(String)
    case double(Double)
    case boolean(Bool)
    case null
    case array([RESPValue])
    case set([RESPValue])
    /// Keys and values in turn, as they came.
    case map([RESPValue])
    /// A message that answers no command. Its first value is the kind.
    case push([RESPValue])
    /// A refusal by the server.
    case error(RESPRefusal)
}

/// An error that a server answered with: a word in capitals, such as `WRONGTYPE`, and a message.
package struct RESPRefusal: Sendable, Hashable {
    package let code: String
    package let message: String

    init(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        code = words.first.map(String.init) ?? ""
        message = words.count > 1 ? String(words[1]) : ""
    }
}

extension RESPValue {
    /// The text of a string; `nil` for other kinds.
    var text: String? {
        switch self {
        case .simple(let text): text
        case .bulk(let bytes), .verbatim(let bytes, _): String(buffer: bytes)
        default: nil
        }
    }

    /// The bytes of a string; `nil` for other kinds.
    var bytes: ByteBuffer? {
        switch self {
        case .bulk(let bytes), .verbatim(let bytes, _): bytes
        case .simple(let text): ByteBuffer(string: text)
        default: nil
        }
    }

    /// The values of an array, a set, a map or a push; `nil` for other kinds.
    var items: [RESPValue]? {
        switch self {
        case .array(let items), .set(let items), .map(let items), .push(let items): items
        default: nil
        }
    }
}
#endif
