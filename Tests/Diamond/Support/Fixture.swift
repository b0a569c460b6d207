import Foundation

/// The files of `Tests/Fixtures`.
enum Fixture {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fixtures")

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appending(path: path)))
    }
}
