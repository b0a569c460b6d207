#if Valkey
import CLibFuzzer
import Foundation

/// Takes libFuzzer's arguments: `FuzzRESP -runs=10000000 CORPUS`.
@main
enum FuzzRESP {
    static func main() {
        var (count, arguments) = (CommandLine.argc, Optional(CommandLine.unsafeArgv))
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzz))
    }
}

/// Tries one input, and ends the process where it fails, as `Fuzz` does.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let failure = FuzzedRESP.failure(of: UnsafeBufferPointer(start: start, count: count)) { fatalError(failure) }
    return 0
}
#endif
