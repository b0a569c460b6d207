#if Tools
import ArgumentParser
import Diamond
import DiamondSQLite
import Foundation

/// The keys of a sealed store, from files or the environment, because other processes can read arguments.
struct SealKeys {
    static let variable = "DIAMOND_CACHE_KEY"
    static let idVariable = "DIAMOND_CACHE_KEY_ID"

    /// The files of `--key-file`.
    var files: [String] = []
    /// The names of `--key-id`.
    var ids: [String] = []

    /// Returns a seal with the first key, and the others as older keys; `nil` if no key is given.
    func seal() throws -> AESGCMSeal? {
        let keys = try keys()
        guard let first = keys.first else { return nil }
        let older = Dictionary(keys.dropFirst().map { ($0.id, $0.bytes) }) { first, _ in first }
        do throws(CacheSealError) {
            return try AESGCMSeal(key: first.bytes, id: first.id, olderKeys: older)
        } catch {
            throw Failure.report(Failure.usage, error.message)
        }
    }

    private func keys() throws -> [(id: String, bytes: Data)] {
        let keys = try unnamedKeys()
        let names = names(count: keys.count)
        guard names.count <= max(1, keys.count) else {
            throw Failure.report(
                Failure.usage, "there are more key names than keys: give at most one --key-id for each key")
        }
        return keys.enumerated().map { number, key in
            (number < names.count ? names[number] : AESGCMSeal.id(of: key), key)
        }
    }

    private func unnamedKeys() throws -> [Data] {
        guard files.isEmpty else {
            return try files.map { file in
                let bytes = try contents(of: file)
                return try checked(Self.key(in: bytes) ?? bytes, from: "in \(file)")
            }
        }
        let text = environment(Self.variable)
        guard !text.isEmpty else { return [] }
        let words = text.split(whereSeparator: \.isWhitespace)
        return try (words.isEmpty ? [""] : words).map { word in
            try checked(Self.key(in: Data(word.utf8)) ?? Data(), from: "in \(Self.variable)")
        }
    }

    /// Returns the names of keys. The variable separates several names with spaces; a single name may contain spaces.
    private func names(count: Int) -> [String] {
        guard ids.isEmpty else { return ids }
        let text = environment(Self.idVariable)
        guard count > 1 else { return text.isEmpty ? [] : [text] }
        return text.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    private func environment(_ name: String) -> String { ProcessInfo.processInfo.environment[name] ?? "" }

    private func checked(_ key: Data, from place: String) throws -> Data {
        guard Self.sizes.contains(key.count) else {
            let forms = "write 16, 24 or 32 random bytes in hexadecimal digits or base64"
            throw Failure.report(Failure.usage, "there is no key \(place): \(forms)")
        }
        return key
    }

    /// The valid key lengths in bytes.
    private static let sizes = [16, 24, 32]

    /// Returns the key in hexadecimal digits or base64. Tries digits first, because they are also valid base64.
    private static func key(in bytes: Data) -> Data? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let readings = [Hex.bytes(of: word).map { Data($0) }, Data(base64Encoded: word)]
        return readings.compactMap { $0 }.first { sizes.contains($0.count) }
    }

    /// The contents of key files by path. A pipe, such as `--key-file <(pass key)`, can be read only once.
    private static let contents = Guarded<[String: Data]>([:])

    private func contents(of path: String) throws -> Data {
        if let read = Self.contents.withLock({ $0[path] }) { return read }
        let read = try read(path)
        Self.contents.withLock { $0[path] = read }
        return read
    }

    private func read(_ path: String) throws -> Data {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw Failure.report(
                Failure.usage, "the key file \(path) cannot be opened (\(reason)): name one that you may read")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard PrivateFile.isPrivate(descriptor) else {
            throw Failure.report(
                Failure.usage, "other users can read the key file \(path): run chmod 600 on it")
        }
        do {
            // Longer than any key.
            return try file.read(upToCount: 1024) ?? Data()
        } catch {
            throw Failure.report(Failure.usage, "the key file \(path) cannot be read: give a file")
        }
    }
}

extension SealKeys {
    /// Returns why the store cannot be opened and what to do; `nil` if a given key opens it or it is not sealed.
    func problem(of cache: Cache) throws -> String? {
        let given = try keys().map(\.id)
        let ids = try cache.keyIDs()
        guard !ids.isEmpty, !given.contains(where: ids.contains) else { return nil }
        let names = Self.quoted(ids)
        let remedy = "with --key-file or in \(Self.variable)"
        guard !given.isEmpty else { return "the store is sealed with the key \(names): give it \(remedy)" }
        let sealed = "the store is sealed with the key \(names), not \(Self.quoted(given))"
        return "\(sealed): give that \(remedy), or its name with --key-id"
    }

    /// Returns ``problem(of:)``. If there is none, returns which older keys some entries need.
    func problemOfEntries(in cache: Cache) throws -> String? {
        if let problem = try problem(of: cache) { return problem }
        let given = try keys().map(\.id)
        let ids = try cache.sealedEntryCounts().keys.filter { !given.contains($0) }
        guard !ids.isEmpty else { return nil }
        let sealed = "the store has entries sealed with the key \(Self.quoted(ids.sorted()))"
        return "\(sealed): give it as well, after the current key"
    }

    private static func quoted(_ ids: [String]) -> String { ids.map { "'\($0)'" }.joined(separator: ", ") }
}
#endif
