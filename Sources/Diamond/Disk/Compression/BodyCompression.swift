import Foundation
import HTTPTypes

#if Compression && canImport(CDiamondZlib)
import CDiamondZlib
#endif

/// Chunks of a body compressed with zlib (RFC 1950), each for itself, so that they stream and are read one by one.
///
/// A chunk stands in a frame: four bytes with the length of the rest, four with the bytes that it decompresses to, 0 where
/// compressing did not shorten it; little-endian. Compressed before it is sealed.
enum BodyCompression {
    /// Whether this build has the trait `Compression`.
    static var isAvailable: Bool {
        #if Compression && canImport(CDiamondZlib)
        true
        #else
        false
        #endif
    }

    /// Bytes of a body from which on it is worth the time.
    static let leastSize = 1024

    /// Bytes of the two numbers before a chunk.
    private static let headSize = 8

    /// Whether an answer is text by its type, whose bodies shrink to about a quarter; what is compressed in itself
    /// (images, video, archives) does not.
    static func suits(_ stored: StoredResponse) -> Bool {
        guard let type = stored.headers.single(.contentType) else { return false }
        let name = type.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
        return name.hasPrefix("text/") || suffixes.contains { name.hasSuffix($0) } || types.contains(name)
    }

    private static let suffixes = ["+json", "+xml", "+text", "+yaml"]
    private static let types: Set<String> = [
        "application/json", "application/xml", "application/javascript", "application/ecmascript",
        "application/x-javascript", "application/x-ndjson", "application/ndjson", "application/json-seq",
        "application/graphql", "application/yaml", "application/toml", "application/x-www-form-urlencoded",
    ]

    /// Compressed chunks; `nil` where they are not shorter by an eighth: then they stay as they are.
    static func pack(_ chunks: [Data]) -> [Data]? {
        let size = chunks.reduce(0) { $0 + $1.count }
        guard size >= leastSize else { return nil }
        let packed = chunks.map(pack)
        return packed.reduce(0) { $0 + $1.count } <= size / 8 * 7 ? packed : nil
    }

    static func pack(_ chunk: Data) -> Data {
        let compressed = compressed(chunk)
        let bytes = compressed ?? chunk
        let numbers = [UInt32(bytes.count + 4), compressed == nil ? 0 : UInt32(chunk.count)].map(\.littleEndian)
        return numbers.withUnsafeBytes { Data($0) } + bytes
    }

    /// What frames hold; `nil` where they are none. No chunk grows beyond ``CacheTable/chunkSize``, whatever it says.
    static func unpack(_ frames: Data) -> Data? {
        var rest = frames[...]
        var body = Data()
        while !rest.isEmpty {
            guard let (length, size) = head(of: rest), rest.count >= 4 + length else { return nil }
            let bytes = rest.dropFirst(headSize).prefix(length - 4)
            guard let chunk = size == 0 ? Data(bytes) : decompressed(bytes, size: size) else { return nil }
            if body.isEmpty { body = chunk } else { body += chunk }
            rest = rest.dropFirst(4 + length)
        }
        return body
    }

    private static func head(of frame: Data) -> (length: Int, size: Int)? {
        guard frame.count >= headSize else { return nil }
        let numbers = frame.withUnsafeBytes { bytes in
            [0, 4].map { Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))) }
        }
        guard numbers[0] >= 4, numbers[1] <= CacheTable.chunkSize else { return nil }
        return (numbers[0], numbers[1])
    }
}

#if Compression && canImport(CDiamondZlib)
extension BodyCompression {
    /// The fastest: the sixth makes pages of JSON another 13 % smaller, for 1.4 times the time, chunks of 128 KiB 15 %, for
    /// three times.
    private static let level: Int32 = 1

    /// `nil` where that would be no shorter.
    private static func compressed(_ bytes: Data) -> Data? {
        guard !bytes.isEmpty else { return nil }
        var target = Data(count: bytes.count)
        var length = uLongf(bytes.count)
        let code = target.withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { bytes in
                compress2(
                    target.bindMemory(to: UInt8.self).baseAddress, &length,
                    bytes.bindMemory(to: UInt8.self).baseAddress,
                    uLong(bytes.count), level)
            }
        }
        // Where it does not fit into as many bytes, the code says so.
        return code == Z_OK && Int(length) < bytes.count ? target.prefix(Int(length)) : nil
    }

    /// Exactly so many bytes, or `nil`.
    private static func decompressed(_ bytes: Data, size: Int) -> Data? {
        var target = Data(count: size)
        var length = uLongf(size)
        let code = target.withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { bytes in
                uncompress(
                    target.bindMemory(to: UInt8.self).baseAddress, &length,
                    bytes.bindMemory(to: UInt8.self).baseAddress,
                    uLong(bytes.count))
            }
        }
        return code == Z_OK && Int(length) == size ? target : nil
    }
}
#else
extension BodyCompression {
    private static func compressed(_ bytes: Data) -> Data? { nil }
    private static func decompressed(_ bytes: Data, size: Int) -> Data? { nil }
}
#endif
