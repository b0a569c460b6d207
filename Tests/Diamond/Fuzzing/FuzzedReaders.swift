import DiamondCurlCommand
import Foundation

@testable import Diamond

/// The readers of text from outside, for any bytes at all: what they take has to be written and read again as the same.
///
/// `FuzzedReadersTests` tries the inputs of `Tests/Fixtures/Fuzz` and changes of them in every run of the tests;
/// `scripts/fuzz` compiles this file into libFuzzer's program.
struct FuzzedReaders {
    private let rules = KeyRules()
    private(set) var failures: [String] = []

    /// The first thing that is wrong with how an input is read; `nil` where nothing is.
    ///
    /// - Parameter input: its first byte chooses the reader of the rest.
    static func failure(of input: some Collection<UInt8>) -> String? {
        var readers = FuzzedReaders()
        readers.read(input)
        return readers.failures.first
    }

    private mutating func read(_ input: some Collection<UInt8>) {
        guard let choice = input.first else { return }
        let bytes = Array(input.dropFirst())
        let text = String(decoding: bytes, as: UTF8.self)
        switch choice % 4 {
        case 0: readURL(text)
        case 1: readJSON(bytes)
        case 2: readCurlCommand(text)
        default: readWrittenForm(bytes)
        }
    }

    /// A normal form is its own.
    private mutating func readURL(_ text: String) {
        guard let once = try? RequestURL(text).text() else { return }
        expect((try? RequestURL(once).text()) == once, "the URL \(once) is not in normal form")
        checkForm(of: Request(text))
    }

    /// JSON that was read and written is read as the same value, and written in the same way. JSON without a fault is
    /// read alike where faults are isolated.
    private mutating func readJSON(_ bytes: [UInt8]) {
        let isolated = try? JSONValue(reading: bytes, isolatesFaults: true)
        guard let value = try? JSONValue(reading: bytes), let once = try? JSONWriter.text(of: value) else { return }
        expect(isolated == value, "JSON without a fault is read in two ways")
        let again = try? JSONValue(reading: once)
        expect(again == value, "JSON changed: \(String(decoding: once, as: UTF8.self))")
        expect(again.flatMap { try? JSONWriter.text(of: $0) } == once, "JSON is not in normal form")
    }

    private mutating func readCurlCommand(_ text: String) {
        guard let request = try? Request(curl: text) else { return }
        checkForm(of: request)
    }

    /// A request that was read and written is the same request.
    private mutating func readWrittenForm(_ bytes: [UInt8]) {
        guard let request = try? Request(json: Data(bytes)), let written = try? request.json() else { return }
        let again = try? Request(json: written)
        expect(again == request, "a request changed: \(String(decoding: written, as: UTF8.self))")
        checkForm(of: request)
    }

    /// A canonical form has whole lines, each with a tag, and is the same again. Compared by bytes: to Swift a space
    /// and an accent after it are one character, and no space.
    private mutating func checkForm(of request: Request) {
        guard let form = try? CanonicalForm(of: request, rules: rules) else { return }
        let lines = form.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let isWhole = lines.first?.elementsEqual("diamond 1".utf8) == true && lines.last?.isEmpty == true
        expect(isWhole, "a form of broken lines: \(form.text.debugDescription)")
        let areTagged = lines.dropLast().allSatisfy { $0.contains(UInt8(ascii: " ")) }
        expect(areTagged, "a line without a tag: \(form.text.debugDescription)")
        expect((try? CanonicalForm(of: request, rules: rules))?.bytes == form.bytes, "a form that changes")
    }

    private mutating func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition { failures.append(message()) }
    }
}
