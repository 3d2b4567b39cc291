# frozen_string_literal: true

# The two arguments of every program in this folder: THREADS HOPS.
def read_arguments
  if ARGV.size == 2 && ARGV.all? { |text| text.match?(/\A[0-9]{1,15}\z/) } && ARGV[0].to_i >= 1
    return ARGV.map { |text| text.to_i(10) }
  end

  warn 'ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits'
  exit 2
end
