#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The key of a sealed store: from a file or the environment, never an argument, which all processes of a machine can
/// read.
struct SealOptions: ParsableArguments {
    static let variable = "DIAMOND_CACHE_KEY"
    static let idVariable = "DIAMOND_CACHE_KEY_ID"

    @Option(
        help: ArgumentHelp(
            "A file, readable by its owner only, with the key of a sealed store: hexadecimal, base64 or raw.",
            valueName: "FILE"))
    var keyFile: String?

    @Option(
        name: .customLong("key-id"),
        help: ArgumentHelp("The key's name, where the store's programs give it one.", valueName: "ID"))
    var keyID: String?

    /// `nil` where no key is given.
    func seal() throws -> AESGCMSeal? {
        let environment = ProcessInfo.processInfo.environment
        let id = keyID ?? environment[Self.idVariable].flatMap { $0.isEmpty ? nil : $0 }
        if let keyFile {
            let bytes = try contents(of: keyFile)
            return try seal(Self.key(in: bytes) ?? bytes, id, from: "in \(keyFile)")
        }
        guard let text = environment[Self.variable], !text.isEmpty else { return nil }
        return try seal(Self.key(in: Data(text.utf8)) ?? Data(), id, from: "in \(Self.variable)")
    }

    private func seal(_ key: Data, _ id: String?, from place: String) throws -> AESGCMSeal {
        do throws(CacheSealError) {
            return try AESGCMSeal(key: key, id: id)
        } catch {
            let forms = "write 16, 24 or 32 random bytes in hexadecimal digits or base64"
            throw Failure.report(Failure.usage, "there is no key \(place): \(forms)")
        }
    }

    /// What a text writes: hexadecimal digits, or base64. Digits first: they could be base64, too.
    private static func key(in bytes: Data) -> Data? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let readings = [Data(hexadecimal: word), Data(base64Encoded: word)]
        return readings.compactMap { $0 }.first { [16, 24, 32].contains($0.count) }
    }

    private func contents(of path: String) throws -> Data {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure.report(
                Failure.usage, "the key file \(path) cannot be opened (\(String(cString: strerror(errno))))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o077 == 0 else {
            throw Failure.report(
                Failure.usage, "others than its owner may read the key file \(path): run chmod 600 on it")
        }
        do {
            // More is no key.
            return try file.read(upToCount: 1024) ?? Data()
        } catch {
            throw Failure.report(Failure.usage, "the key file \(path) cannot be read: give a file")
        }
    }
}

extension SealOptions {
    /// Why entries stay closed, and what to do; `nil` where the key given, or none, opens them.
    func complaint(of cache: Cache) throws -> String? {
        let given = try seal()?.keyID
        let ids: [String]
        do throws(CacheError) { ids = try cache.keyIDs() } catch { throw Failure.report(error) }
        guard !ids.isEmpty, given.map(ids.contains) != true else { return nil }
        let names = ids.map { "'\($0)'" }.joined(separator: ", ")
        let remedy = "with --key-file or in \(Self.variable)"
        guard let given else { return "the store is sealed with the key \(names): give it \(remedy)" }
        let sealed = "the store is sealed with the key \(names), not '\(given)'"
        return "\(sealed): give that \(remedy), or its name with --key-id"
    }
}

extension Data {
    fileprivate init?(hexadecimal text: String) {
        guard let bytes = Hex.bytes(of: text) else { return nil }
        self.init(bytes)
    }
}
#endif
