import Foundation
import HTTPTypes

#if Compression && canImport(CDiamondZlib)
import CDiamondZlib
#endif

/// The compression of bodies with zlib (RFC 1950). Each chunk is compressed by itself, so that chunks can be streamed
/// and read one by one.
///
/// A chunk is in a frame: four bytes with the length of the rest, and four with the length of the decompressed bytes, 0
/// if compression did not shorten it. Both are little-endian. A chunk is compressed before it is sealed.
enum BodyCompression {
    /// Whether this build has the trait `Compression`.
    static var isAvailable: Bool {
        #if Compression && canImport(CDiamondZlib)
        true
        #else
        false
        #endif
    }

    /// The smallest body that is compressed, in bytes.
    static let minimumSize = 1024

    /// The bytes of the two numbers before a chunk.
    private static let headSize = 8

    /// Whether a response is text by its media type. Bodies of text shrink to about a quarter. Images, video and
    /// archives do not: they are compressed already.
    static func isCompressible(_ stored: StoredResponse) -> Bool {
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

    /// Returns compressed chunks; `nil` if they are not shorter by an eighth. The chunks then stay as they are.
    static func pack(_ chunks: [Data]) -> [Data]? {
        let size = chunks.reduce(0) { $0 + $1.count }
        guard size >= minimumSize else { return nil }
        let packed = chunks.map(pack)
        return packed.reduce(0) { $0 + $1.count } <= size / 8 * 7 ? packed : nil
    }

    static func pack(_ chunk: Data) -> Data {
        let compressed = compressed(chunk)
        let bytes = compressed ?? chunk
        let numbers = [UInt32(bytes.count + 4), compressed == nil ? 0 : UInt32(chunk.count)].map(\.littleEndian)
        return numbers.withUnsafeBytes { Data($0) } + bytes
    }

    /// Returns the decompressed contents of frames; `nil` if the bytes are not frames. No chunk grows beyond
    /// ``CacheTable/chunkSize``, whatever its frame says.
    static func unpack(_ frames: Data) -> Data? {
        var rest = frames[...]
        var body = Data()
        while !rest.isEmpty {
            guard let head = Head(of: rest), rest.count >= 4 + head.length else { return nil }
            let bytes = rest.dropFirst(headSize).prefix(head.length - 4)
            guard let chunk = head.size == 0 ? Data(bytes) : decompressed(bytes, size: head.size) else { return nil }
            if body.isEmpty { body = chunk } else { body += chunk }
            rest = rest.dropFirst(4 + head.length)
        }
        return body
    }

    /// The two numbers before a chunk.
    private struct Head {
        /// The bytes of the frame after this number.
        let length: Int
        /// The bytes of the decompressed chunk; 0 if it is not compressed.
        let size: Int

        /// Reads the head of a frame; `nil` if its numbers are invalid.
        init?(of frame: Data) {
            guard frame.count >= BodyCompression.headSize else { return nil }
            let numbers = frame.withUnsafeBytes { bytes in
                [0, 4].map { Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))) }
            }
            guard numbers[0] >= 4, numbers[1] <= CacheTable.chunkSize else { return nil }
            length = numbers[0]
            size = numbers[1]
        }
    }
}

#if Compression && canImport(CDiamondZlib)
extension BodyCompression {
    /// The fastest level. Level 6 makes pages of JSON another 13 % smaller, in 1.4 times the time, and chunks of 128
    /// KiB 15 %, in three times the time.
    private static let level: Int32 = 1

    /// Returns compressed bytes; `nil` if they would be no shorter.
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
        // If the result is longer than the input, the code is an error.
        return code == Z_OK && Int(length) < bytes.count ? target.prefix(Int(length)) : nil
    }

    /// Returns decompressed bytes; `nil` if they do not have the expected size.
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
