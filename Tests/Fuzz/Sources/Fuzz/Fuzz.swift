import CLibFuzzer
import Foundation

@testable import Diamond

/// Takes libFuzzer's arguments: `Fuzz -max_total_time=60 CORPUS`.
@main
enum Fuzz {
    static func main() {
        var (count, arguments) = (CommandLine.argc, Optional(CommandLine.unsafeArgv))
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzz))
    }
}

/// Tries one input. The first byte chooses what reads the rest. Under the name that libFuzzer's own main asks for, which
/// is linked though not run.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    let text = String(decoding: bytes, as: UTF8.self)
    switch choice % 4 {
    case 0: fuzzURL(text)
    case 1: fuzzJSON(bytes)
    case 2: fuzzCurl(text)
    default: fuzzWrittenForm(bytes)
    }
    return 0
}

/// A normal form is its own.
private func fuzzURL(_ text: String) {
    guard let once = try? RequestURL(text).text() else { return }
    expect((try? RequestURL(once).text()) == once, "the URL \(once) is not in normal form")
    checkForm(of: Request(text))
}

/// What was read and written is read as the same, and written in the same way.
private func fuzzJSON(_ bytes: [UInt8]) {
    guard let value = try? JSONReader.value(of: bytes), let once = try? JSONWriter.text(of: value) else { return }
    let again = try? JSONReader.value(of: once)
    expect(again == value, "JSON changed: \(String(decoding: once, as: UTF8.self))")
    expect(again.flatMap { try? JSONWriter.text(of: $0) } == once, "JSON is not in normal form")
}

private func fuzzCurl(_ text: String) {
    guard let request = try? Request(curl: text) else { return }
    checkForm(of: request)
}

/// What was read and written is the same request.
private func fuzzWrittenForm(_ bytes: [UInt8]) {
    guard let request = try? Request(json: Data(bytes)) else { return }
    guard let written = try? request.json() else { return }
    expect((try? Request(json: written)) == request, "a request changed: \(String(decoding: written, as: UTF8.self))")
    checkForm(of: request)
}

/// A canonical form has whole lines, each with a tag, and is the same again. By bytes: to Swift a space and an accent
/// after it are one character, and no space.
private func checkForm(of request: Request) {
    guard let form = try? CanonicalForm(of: request, rules: rules) else { return }
    let lines = form.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let isWhole = lines.first?.elementsEqual("diamond 1".utf8) == true && lines.last?.isEmpty == true
    expect(isWhole, "a form of broken lines: \(form.text.debugDescription)")
    let areTagged = lines.dropLast().allSatisfy { $0.contains(UInt8(ascii: " ")) }
    expect(areTagged, "a line without a tag: \(form.text.debugDescription)")
    expect((try? CanonicalForm(of: request, rules: rules))?.bytes == form.bytes, "a form that changes")
}

private let rules = KeyRules()

/// Ends the process where libFuzzer sees it.
private func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fatalError(message()) }
}
