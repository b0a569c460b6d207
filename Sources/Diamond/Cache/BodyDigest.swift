import Crypto
import Foundation

/// The checksum that guards a stored body: SHA-256.
enum BodyDigest {
    static func digest(of body: Data) -> Data { Data(SHA256.hash(data: body)) }

    static func matches(_ body: Data, _ digest: Data) -> Bool { SHA256.hash(data: body) == digest }
}
