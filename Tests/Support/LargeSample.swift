package import Diamond
package import Foundation

/// An entry whose body takes several transactions, and is determined by a version.
package struct LargeSample {
    private static let size = 2_500_000

    package var number: Int

    package init(number: Int) { self.number = number }

    /// - Parameter version: taken modulo 8, so that partial bodies of a version are often continued.
    package func entry(version: UInt8) throws -> CacheEntry {
        let url = "http://h/large/\(number)"
        let form = try CanonicalForm(of: Request(url), rules: KeyRules())
        let version = version % 8
        let stored = StoredResponse(
            status: 200,
            headerBlock: Data("ETag: \"\(version)\"\n".utf8),
            body: Self.body(version),
            storedAt: WallTime.now,
            initialAge: 0,
            lifetime: nil,
            flags: number % 2 == 0 ? .hasValidator : []
        )
        return CacheEntry(key: form.key, request: form.bytes, url: url, method: "GET", stored: stored, tags: ["tag1"])
    }

    /// Whether a response is whole, with the body and header of one version.
    package static func isSound(_ body: Data, _ stored: StoredResponse) -> Bool {
        guard let version = body.first else { return false }
        return body == self.body(version) && stored.headerBlock == Data("ETag: \"\(version)\"\n".utf8)
    }

    private static func body(_ version: UInt8) -> Data {
        var random = SplitMix(state: UInt64(version))
        let words = (0..<size / 8).map { _ in random.next() }
        var body = words.withUnsafeBytes { Data($0) }
        body[0] = version
        return body
    }
}
