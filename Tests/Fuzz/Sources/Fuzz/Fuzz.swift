import CLibFuzzer
import Foundation

/// Takes libFuzzer's arguments: `Fuzz -max_total_time=60 CORPUS`. With `DIAMOND_FUZZ=scanner` it tries the scanner of
/// JSON alone, which takes microseconds.
@main
enum Fuzz {
    // libFuzzer calls everything on one thread.
    fileprivate nonisolated(unsafe) static var scanner: FuzzedScanner?

    static func main() {
        if ProcessInfo.processInfo.environment["DIAMOND_FUZZ"] == "scanner" { scanner = FuzzedScanner(capacity: 4096) }
        var (count, arguments) = (CommandLine.argc, Optional(CommandLine.unsafeArgv))
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzz))
    }
}

/// Tries one input, and ends the process where it fails: libFuzzer then writes the input down. Under the name that
/// libFuzzer's own main asks for, which is linked though not run.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    let failure =
        Fuzz.scanner == nil
        ? FuzzedReaders.failure(of: input) : Fuzz.scanner?.failure(of: UnsafeRawBufferPointer(input))
    if let failure { fatalError(failure) }
    return 0
}

/// Changes an input: half of them by libFuzzer, the others by their structure if they are JSON.
@_cdecl("LLVMFuzzerCustomMutator")
public func change(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ capacity: Int, _ seed: CUnsignedInt) -> Int {
    guard seed % 2 == 0, let changed = StructureChange.changed(UnsafeBufferPointer(start: start, count: count), seed),
        changed.count <= capacity
    else { return LLVMFuzzerMutate(start, count, capacity) }
    start.update(from: changed, count: changed.count)
    return changed.count
}
