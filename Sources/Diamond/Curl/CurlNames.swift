#if Curl && canImport(CDiamondCurl)
import HTTPTypes

/// The names of headers received before. A server sends the same ones again, mostly in the same order, and making a name
/// costs more than finding it.
struct CurlNames {
    private var known: [HTTPField.Name] = []
    /// The likely position of the next name.
    private var next = 0

    private static let limit = 64

    /// Returns the name that the bytes spell, in this very case; `nil` if they are none.
    mutating func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        for _ in known.indices {
            if next >= known.count { next = 0 }
            defer { next += 1 }
            if Self.isSame(known[next], bytes) { return known[next] }
        }
        return learn(bytes)
    }

    private mutating func learn(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
        if known.count < Self.limit { known.append(name) }
        next = known.count
        return name
    }

    private static func isSame(_ name: HTTPField.Name, _ bytes: UnsafeRawBufferPointer) -> Bool {
        var text = name.rawName
        return text.withUTF8 { $0.count == bytes.count && UnsafeRawBufferPointer($0).elementsEqual(bytes) }
    }
}
#endif
