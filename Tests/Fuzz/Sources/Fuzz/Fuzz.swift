import CLibFuzzer
import Foundation

/// Takes libFuzzer's arguments: `Fuzz -max_total_time=60 CORPUS`.
@main
enum Fuzz {
    static func main() {
        var (count, arguments) = (CommandLine.argc, Optional(CommandLine.unsafeArgv))
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzz))
    }
}

/// Tries one input, and ends the process where it fails: libFuzzer then writes the input down. Under the name that
/// libFuzzer's own main asks for, which is linked though not run.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let failure = FuzzedReaders.failure(of: UnsafeBufferPointer(start: start, count: count)) { fatalError(failure) }
    return 0
}
