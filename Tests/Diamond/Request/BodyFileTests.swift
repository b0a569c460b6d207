import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The file of a body") struct BodyFileTests {
    private static let files = [
        URL(filePath: "/a/b"), URL(filePath: "b", relativeTo: URL(filePath: "/a/", directoryHint: .isDirectory)),
    ]
    private static let bodies: [@Sendable (URL) -> RequestBody] = [
        { .file($0) }, { .file($0, contentType: "text/plain") }, { .multipart([MultipartPart("a", file: $0)]) },
    ]

    @Test(arguments: bodies.indices)
    func `is equal for equal URLs, and has one hash`(index: Int) {
        let bodies = Self.files.map(Self.bodies[index])
        let requests = bodies.map { Request("http://h/", method: .put, body: $0) }
        #expect(bodies[0] == bodies[1] && requests[0] == requests[1])
        #expect(Set(bodies.map(\.hashValue)).count == 1 && Set(requests.map(\.hashValue)).count == 1)
    }

    @Test func `body files of different types or places are different`() {
        let (file, other) = (Self.files[0], URL(filePath: "/a/c"))
        let bodies: Set<RequestBody> = [
            .file(file), .file(other), .file(file, contentType: "a"), .file(file, contentType: "b"),
            .multipart([MultipartPart("a", file: file)]), .multipart([MultipartPart("a", .file(other), filename: "b")]),
        ]
        #expect(bodies.count == 6)
    }
}
