import Crypto
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("The digest of a file") struct FileDigestTests {
    private static let changed = Date(timeIntervalSince1970: 1_767_225_600)

    private let folder = TemporaryFolder()

    /// Changes the file in place, so that its properties stay the same.
    private func write(_ text: String, to file: URL) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
        try FileManager.default.setAttributes([.modificationDate: Self.changed], ofItemAtPath: file.path)
    }

    private static func digest(of text: String) -> String {
        "\(text.utf8.count) \(Hex.text(of: SHA256.hash(data: Data(text.utf8))))"
    }

    @Test(arguments: [(3.0, "one"), (2.0, "two"), (0.0, "two"), (-60.0, "two")])
    func `a file's digest is cached only two seconds after its last change`(age: TimeInterval, second: String) throws {
        let file = try folder.file("a", Data("one".utf8))
        let now = Self.changed.addingTimeInterval(age)
        try write("one", to: file)
        #expect(try FileDigest.text(of: file, now: now) == Self.digest(of: "one"))
        try write("two", to: file)
        #expect(try FileDigest.text(of: file, now: now) == Self.digest(of: second))
    }
}
